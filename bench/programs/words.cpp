// Three threads fill a map of strings under a mutex.
#include <cassert>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

int main() {
    std::mutex mutex;
    std::map<std::string, int> counts;
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; t++)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 3; i++) {
                std::string word = "a word that is on the heap, number " + std::to_string(t + i);
                std::lock_guard<std::mutex> hold(mutex);
                counts[word]++;
            }
        });
    for (auto &thread : threads) thread.join();
    assert(counts.size() == 4);
}
