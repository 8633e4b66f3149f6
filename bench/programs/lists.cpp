// Two threads sort, search and sum in containers, calls and pointers everywhere; now and then they lock a mutex.
#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::mutex mutex;
static long total;

static void work(unsigned seed) {
    std::map<std::string, long> counts;
    std::vector<unsigned> numbers;
    for (int i = 0; i < 20000; i++) {
        seed = seed * 1664525 + 1013904223;
        numbers.push_back(seed >> 8);
        if (i % 8 == 0) counts["number " + std::to_string(seed >> 24)]++;
    }
    std::sort(numbers.begin(), numbers.end());
    long sum = 0;
    for (auto &entry : counts) {
        sum += entry.second;
        std::lock_guard<std::mutex> hold(mutex);
        total += entry.second;
    }
    if (sum != 2500) total = -1;
}

int main() {
    std::thread thread(work, 2);
    work(1);
    thread.join();
    return total != 5000;
}
