/* The MCS lock of CDSChecker's benchmarks (Norris and Demsky, OOPSLA 2013), rebuilt from the published version that
   tsan11 and C11Tester were measured with.

   Two threads take the lock twice each; one writes and then reads, the other reads and then writes.
   Bug: who waits for the lock waits with relaxed loads, and does not synchronise with whoever passes it on; nor does
   who passes it on with whoever came meanwhile. C11Tester counts the race on `shared`. */
#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <thread>

constexpr std::memory_order relaxed = std::memory_order_relaxed;
constexpr std::memory_order acquire = std::memory_order_acquire;
constexpr std::memory_order release = std::memory_order_release;
constexpr std::memory_order acq_rel = std::memory_order_acq_rel;

struct Node {
    std::atomic<Node *> next;
    std::atomic<int> waits;
    Node() {
        next.store(nullptr);
        waits.store(0);
    }
};

class Mutex {
    std::atomic<Node *> tail;

public:
    Mutex() { tail.store(nullptr); }
    ~Mutex() { assert(tail.load() == nullptr); }

    void lock(Node *me) {
        me->next.store(nullptr, relaxed);
        me->waits.store(1, relaxed);
        Node *before = tail.exchange(me, acq_rel);
        if (!before) return;
        before->next.store(me, release);
        while (me->waits.load(relaxed)) std::this_thread::yield();
    }

    void unlock(Node *me) {
        Node *next = me->next.load(acquire);
        if (!next) {
            Node *last = me;
            if (tail.compare_exchange_strong(last, nullptr, acq_rel)) return;
            while (!(next = me->next.load(relaxed))) std::this_thread::yield();
        }
        next->waits.store(0, release);
    }
};

static Mutex *mutex;
static uint32_t shared;

static void writes_and_reads() {
    Node me;
    mutex->lock(&me);
    std::printf("store: %d\n", 17);
    shared = 17;
    mutex->unlock(&me);
    mutex->lock(&me);
    std::printf("load: %u\n", shared);
    mutex->unlock(&me);
}

static void reads_and_writes() {
    Node me;
    mutex->lock(&me);
    std::printf("load: %u\n", shared);
    mutex->unlock(&me);
    mutex->lock(&me);
    std::printf("store: %d\n", 17);
    shared = 17;
    mutex->unlock(&me);
}

int main() {
    mutex = new Mutex;
    std::thread first(writes_and_reads);
    std::thread second(reads_and_writes);
    first.join();
    second.join();
}
