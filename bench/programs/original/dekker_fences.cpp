/* Dekker's critical section with fences, of CDSChecker's benchmarks (Norris and Demsky, OOPSLA 2013), rebuilt from
   the published version that tsan11 and C11Tester were measured with.

   Two threads enter their critical section once each.
   Bug: the first thread has no seq_cst fence behind its first store, so that both can be inside. C11Tester counts the
   race on `shared`. */
#include <atomic>
#include <cstdint>
#include <thread>

constexpr std::memory_order relaxed = std::memory_order_relaxed;
static std::atomic<bool> wants[2];
static std::atomic<int> turn;
uint32_t shared; /* Not static: nobody reads it, and it should stay. */

/* The original has the code twice, so that it has no conditions but those of the algorithm. */
template <int ME, bool FENCED> static void enter_and_leave() {
    constexpr int OTHER = 1 - ME;
    wants[ME].store(true, relaxed);
    if (FENCED) std::atomic_thread_fence(std::memory_order_seq_cst);
    while (wants[OTHER].load(relaxed)) {
        if (turn.load(relaxed) == ME) {
            std::this_thread::yield();
            continue;
        }
        wants[ME].store(false, relaxed);
        while (turn.load(relaxed) != ME) std::this_thread::yield();
        wants[ME].store(true, relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    shared = ME + 1;
    turn.store(OTHER, relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    wants[ME].store(false, relaxed);
}

int main() {
    wants[0] = false;
    wants[1] = false;
    turn = 0;
    std::thread first(enter_and_leave<0, false>);
    std::thread second(enter_and_leave<1, true>);
    first.join();
    second.join();
}
