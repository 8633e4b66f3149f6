// boost::lockfree::queue: two producers, two consumers, nodes reused. Nothing is lost or comes twice, and each consumer
// sees the elements of one producer in order.
#include <boost/lockfree/queue.hpp>
#include <cassert>
#include <thread>
#include <vector>

#ifdef FIXED
static boost::lockfree::queue<int, boost::lockfree::capacity<5>> queue;
#else
static boost::lockfree::queue<int> queue(1);
#endif

static void produce(int producer) {
    for (int i = 0; i < 2; i++)
        while (!queue.push(producer * 10 + i)) std::this_thread::yield();
}

static void consume(std::vector<int> *taken) {
    for (int i = 0; i < 2; i++) {
        int element;
        if (queue.pop(element)) taken->push_back(element);
    }
}

int main() {
    std::vector<int> taken[3];
    std::thread threads[] = {std::thread(produce, 1), std::thread(produce, 2), std::thread(consume, &taken[0]),
                             std::thread(consume, &taken[1])};
    for (auto &thread : threads) thread.join();
    int element;
    while (queue.pop(element)) taken[2].push_back(element);
    int seen[30] = {};
    for (auto &list : taken) {
        int last[3] = {-1, -1, -1};
        for (int element : list) {
            seen[element]++;
            assert(element % 10 > last[element / 10]);
            last[element / 10] = element % 10;
        }
    }
    assert(seen[10] == 1 && seen[11] == 1 && seen[20] == 1 && seen[21] == 1 && queue.empty());
}
