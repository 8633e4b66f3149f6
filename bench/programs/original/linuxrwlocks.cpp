/* The reader-writer lock of older Linux kernels, of CDSChecker's benchmarks (Norris and Demsky, OOPSLA 2013), rebuilt
   from the published version that tsan11 and C11Tester were measured with.

   Two threads read once and write once each, with a yield inside the write lock.
   Bug: a thread that did not get the lock at once tries again with relaxed order, and does not synchronise with
   whoever held it before. C11Tester counts the race on `shared`. */
#include <atomic>
#include <thread>

constexpr std::memory_order relaxed = std::memory_order_relaxed;
constexpr std::memory_order acquire = std::memory_order_acquire;
constexpr std::memory_order release = std::memory_order_release;
constexpr int BIAS = 0x100000;

static std::atomic<int> lock;
int shared;
thread_local int seen; /* Not static, so that the compiler keeps the read. */

static void read_lock() {
    for (int before = lock.fetch_sub(1, acquire); before <= 0; before = lock.fetch_sub(1, relaxed)) {
        lock.fetch_add(1, relaxed);
        while (lock.load(relaxed) <= 0) std::this_thread::yield();
    }
}

static void write_lock() {
    for (int before = lock.fetch_sub(BIAS, acquire); before != BIAS; before = lock.fetch_sub(BIAS, relaxed)) {
        lock.fetch_add(BIAS, relaxed);
        while (lock.load(relaxed) != BIAS) std::this_thread::yield();
    }
}

static void reads_and_writes() {
    read_lock();
    seen = shared;
    lock.fetch_add(1, release);
    write_lock();
    std::this_thread::yield();
    shared = 1;
    lock.fetch_add(BIAS, release);
}

int main() {
    lock = BIAS;
    std::thread first(reads_and_writes);
    std::thread second(reads_and_writes);
    first.join();
    second.join();
}
