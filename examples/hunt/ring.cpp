// A bounded queue for one producer and one consumer whose indices are relaxed. Correct under sequential consistency and
// tso. Under pso an index can be seen before the item: the store to tail has to release. Under pslo the consumer has to
// load it with acquire, too. What goes wrong shows in what is printed.
#include <atomic>
#include <cstdio>
#include <thread>

template <typename T, unsigned N> class Ring {
    T items[N];
    std::atomic<unsigned> head{0}, tail{0};

  public:
    bool push(T value) {
        unsigned at = tail.load(std::memory_order_relaxed); /* 1 */
        if (at - head.load(std::memory_order_relaxed) == N) /* 2 */
            return false;
        items[at % N] = value; /* 3 */
        tail.store(at + 1, std::memory_order_relaxed); /* 4 */
        return true;
    }

    bool pop(T &value) {
        unsigned at = head.load(std::memory_order_relaxed); /* 5 */
        if (at == tail.load(std::memory_order_relaxed)) /* 6 */
            return false;
        value = items[at % N]; /* 7 */
        head.store(at + 1, std::memory_order_relaxed); /* 8 */
        return true;
    }
};

int main() {
    static Ring<int, 2> ring;
    long seen = 0;
    std::thread producer([] {
        for (int i = 1; i <= 4; i++)
            while (!ring.push(i))
                std::this_thread::yield();
    });
    std::thread consumer([&seen] {
        for (int i = 0; i < 4; i++) {
            int value;
            while (!ring.pop(value))
                std::this_thread::yield();
            seen = seen * 10 + value;
        }
    });
    producer.join();
    consumer.join();
    std::printf("%ld\n", seen);
}
