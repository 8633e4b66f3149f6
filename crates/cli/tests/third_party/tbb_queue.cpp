// tbb::concurrent_queue: two producers, two consumers. Nothing is lost or comes twice, and each consumer sees the
// elements of one producer in order.
#include <tbb/concurrent_queue.h>
#include <cassert>
#include <string>
#include <thread>
#include <vector>

int main() {
    tbb::concurrent_queue<std::string> queue;
    std::vector<std::string> taken[3];
    auto produce = [&](char producer) {
        for (int i = 0; i < 2; i++) queue.push(std::string(1, producer) + std::to_string(i));
    };
    auto consume = [&](int consumer) {
        std::string element;
        for (int i = 0; i < 2; i++)
            if (queue.try_pop(element)) taken[consumer].push_back(element);
    };
    std::thread threads[] = {std::thread(produce, 'a'), std::thread(produce, 'b'), std::thread(consume, 0),
                             std::thread(consume, 1)};
    for (auto &thread : threads) thread.join();
    std::string element;
    while (queue.try_pop(element)) taken[2].push_back(element);
    int seen[2][2] = {};
    for (auto &list : taken) {
        int last[2] = {-1, -1};
        for (auto &word : list) {
            int producer = word[0] - 'a', i = word[1] - '0';
            seen[producer][i]++;
            assert(i > last[producer]);
            last[producer] = i;
        }
    }
    for (auto &of_one : seen)
        for (int count : of_one) assert(count == 1);
}
