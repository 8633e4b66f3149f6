/* Dekker's mutual exclusion for two threads, with fences.

   Published: Dijkstra, Cooperating sequential processes, 1965; with C++ fences: Anthony Williams, Implementing
   Dekker's algorithm with fences, 2010.
   Bug: the first thread has lost the fence between raising its own flag and looking at the other's (the bug that the
   tsan11 benchmarks put there; Lidbury and Donaldson, POPL 2017). Both can see the other's flag down and enter
   together.
   Fix (-DFIXED): a seq_cst fence there, as in the second thread.
   Fencepost says: data race on `shared`. */
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<bool> raised[2];
static std::atomic<int> turn;
static int shared;

static void lock(int me) {
    const int other = 1 - me;
    raised[me].store(true, std::memory_order_relaxed);
#ifdef FIXED
    std::atomic_thread_fence(std::memory_order_seq_cst);
#else
    if (me == 1) std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
    while (raised[other].load(std::memory_order_relaxed)) {
        if (turn.load(std::memory_order_relaxed) != me) {
            raised[me].store(false, std::memory_order_relaxed);
            while (turn.load(std::memory_order_relaxed) != me) std::this_thread::yield();
            raised[me].store(true, std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_seq_cst);
        } else {
            std::this_thread::yield();
        }
    }
    std::atomic_thread_fence(std::memory_order_acquire);
}

static void unlock(int me) {
    turn.store(1 - me, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    raised[me].store(false, std::memory_order_relaxed);
}

static void add(int me) {
    lock(me);
    shared = shared + 1;
    unlock(me);
}

int main() {
    std::thread first(add, 0), second(add, 1);
    first.join();
    second.join();
    assert(shared == 2);
}
