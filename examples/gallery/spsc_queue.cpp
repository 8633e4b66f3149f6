/* An unbounded queue for one producer and one consumer that sleeps while it is empty: a list, and an eventcount
   beside it.

   Published: Dmitry Vyukov, unbounded SPSC queue and eventcount, 2010 (1024cores); as a benchmark (spsc-queue) by
   Norris and Demsky, OOPSLA 2013, who found the lost wake-up in it.
   Bug: the consumer announces that it is about to sleep and looks at the queue once more; the producer puts an
   element there and looks for sleepers. Without a full fence between the two halves on both sides, both can look too
   early: the consumer sleeps forever.
   Fix (-DFIXED): a seq_cst fence on each side.
   Fencepost says: deadlock, the consumer waits for its condition variable. */
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>

static void full_fence() {
#ifdef FIXED
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

class EventCount {
    std::atomic<bool> sleeper{false};
    std::mutex mutex;
    std::condition_variable condition;
    bool signalled = false;

public:
    void announce() {
        sleeper.store(true, std::memory_order_relaxed);
        full_fence();
    }

    void withdraw() { sleeper.store(false, std::memory_order_relaxed); }

    void sleep() {
        std::unique_lock<std::mutex> lock(mutex);
        while (!signalled) condition.wait(lock);
        signalled = false;
    }

    void wake() {
        full_fence();
        if (!sleeper.load(std::memory_order_relaxed)) return;
        std::lock_guard<std::mutex> lock(mutex);
        signalled = true;
        condition.notify_one();
    }
};

class Queue {
    struct Node {
        int value;
        std::atomic<Node *> next{nullptr};
        explicit Node(int v) : value(v) {}
    };

    Node *first = new Node(0); // the consumer's: the node before the first element
    Node *last = first;        // the producer's
    EventCount event;

    bool try_take(int &value) {
        Node *next = first->next.load(std::memory_order_acquire);
        if (next == nullptr) return false;
        value = next->value;
        delete first;
        first = next;
        return true;
    }

public:
    ~Queue() { delete first; }

    void put(int value) {
        Node *node = new Node(value);
        last->next.store(node, std::memory_order_release);
        last = node;
        event.wake();
    }

    int take() {
        int value;
        if (try_take(value)) return value;
        for (;;) {
            event.announce();
            if (try_take(value)) {
                event.withdraw();
                return value;
            }
            event.sleep();
        }
    }
};

static Queue queue;

int main() {
    std::thread consumer([] {
        assert(queue.take() == 1);
        assert(queue.take() == 2);
    });
    queue.put(1);
    queue.put(2);
    consumer.join();
}
