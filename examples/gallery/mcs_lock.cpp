/* The MCS queue lock: threads wait in a list, each at a gate of its own.

   Published: Mellor-Crummey and Scott, Algorithms for scalable synchronization on shared-memory multiprocessors,
   TOCS 1991, figure 5. Two threads that lock twice each, as in CDSChecker's benchmark of this name.
   Bug: a thread waits at its gate with a relaxed load (the bug that the tsan11 benchmarks put there): it goes on
   without having synchronised with the thread that opened it.
   Fix (-DFIXED): the load acquires.
   Fencepost says: data race on `shared`. */
#include <atomic>
#include <cassert>
#include <thread>

#ifdef FIXED
constexpr auto AT_THE_GATE = std::memory_order_acquire;
#else
constexpr auto AT_THE_GATE = std::memory_order_relaxed;
#endif

struct Node {
    std::atomic<Node *> next{nullptr};
    std::atomic<bool> waiting{false};
};

class McsLock {
    std::atomic<Node *> tail{nullptr};

public:
    void lock(Node &me) {
        me.next.store(nullptr, std::memory_order_relaxed);
        me.waiting.store(true, std::memory_order_relaxed);
        Node *before = tail.exchange(&me, std::memory_order_acq_rel);
        if (before == nullptr) return;
        before->next.store(&me, std::memory_order_release);
        while (me.waiting.load(AT_THE_GATE)) std::this_thread::yield();
    }

    void unlock(Node &me) {
        Node *after = me.next.load(std::memory_order_acquire);
        if (after == nullptr) {
            Node *expected = &me;
            if (tail.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel)) return;
            // Somebody is about to put itself behind us.
            while ((after = me.next.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
        }
        after->waiting.store(false, std::memory_order_release);
    }
};

static McsLock mcs;
static int shared, seen[2];

static void write(Node &node) {
    mcs.lock(node);
    std::this_thread::yield(); // lets the other one come while the lock is held
    shared = 17;
    mcs.unlock(node);
}

static void read(Node &node, int me) {
    mcs.lock(node);
    std::this_thread::yield();
    seen[me] = shared;
    mcs.unlock(node);
}

int main() {
    std::thread first([] {
        Node node;
        write(node);
        read(node, 0);
    });
    std::thread second([] {
        Node node;
        read(node, 1);
        write(node);
    });
    first.join();
    second.join();
    assert(seen[0] == 17 && (seen[1] == 0 || seen[1] == 17));
}
