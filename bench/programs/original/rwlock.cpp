/* The broken reader-writer lock of C11Tester (Luo and Demsky, ASPLOS 2021, section 7.1), rebuilt from its published
   version.

   Three threads read, write, read and write a pair of atomics inside the lock.
   Bug (injected): the write lock is taken with relaxed order, so that a writer's stores are not ordered behind those
   of the writer before. C11Tester counts assertions: a reader sees a pair that nobody wrote. */
#include <atomic>
#include <cassert>
#include <pthread.h>
#include <sched.h>

constexpr std::memory_order relaxed = std::memory_order_relaxed;
constexpr std::memory_order acquire = std::memory_order_acquire;
constexpr std::memory_order release = std::memory_order_release;
constexpr int BIAS = 0x100000;

static std::atomic<int> lock, one, other;

static void read_lock() {
    for (int before = lock.fetch_sub(1, acquire); before <= 0; before = lock.fetch_sub(1, acquire)) {
        lock.fetch_add(1, relaxed);
        while (lock.load(relaxed) <= 0) sched_yield();
    }
}

static void write_lock() {
    for (int before = lock.fetch_sub(BIAS, relaxed); before != BIAS; before = lock.fetch_sub(BIAS, relaxed)) {
        lock.fetch_add(BIAS, relaxed);
        while (lock.load(relaxed) != BIAS) sched_yield();
    }
}

static void *works(void *unused) {
    for (int i = 0; i < 4; i++) {
        if (i % 2 == 0) {
            read_lock();
            int a = one.load(relaxed);
            int b = other.load(relaxed);
            assert(a == b);
            lock.fetch_add(1, release);
        } else {
            write_lock();
            one.store(i, relaxed);
            other.store(i, relaxed);
            lock.fetch_add(BIAS, release);
        }
    }
    return unused;
}

int main() {
    pthread_t threads[3];
    lock.store(BIAS);
    for (pthread_t &thread : threads) pthread_create(&thread, nullptr, works, nullptr);
    for (pthread_t &thread : threads) pthread_join(thread, nullptr);
}
