// moodycamel::BlockingConcurrentQueue: the consumer sleeps on the queue's semaphore (spinning first) until there is
// something.
#include <concurrentqueue/blockingconcurrentqueue.h>
#include <cassert>
#include <thread>

int main() {
    moodycamel::BlockingConcurrentQueue<int> queue;
    int sum = 0;
    std::thread consumer([&] {
        for (int i = 0; i < 3; i++) {
            int element = 0;
            queue.wait_dequeue(element);
            sum += element;
        }
    });
    std::thread first([&] { queue.enqueue(1); }), second([&] { queue.enqueue(2), queue.enqueue(4); });
    first.join();
    second.join();
    consumer.join();
    assert(sum == 7 && queue.size_approx() == 0);
}
