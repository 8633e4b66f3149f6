/* The broken seqlock of C11Tester (Luo and Demsky, ASPLOS 2021, section 7.1; the seqlock is that of Boehm, MSPC 2012,
   figure 5), rebuilt from its published version.

   Two threads write a pair of atomics once each, a third reads it once.
   Bug (injected): a writer takes the lock with relaxed order, so that its stores are not ordered behind those of the
   writer before. C11Tester counts assertions: the reader sees a pair that nobody wrote. */
#include <atomic>
#include <cassert>
#include <pthread.h>

constexpr std::memory_order relaxed = std::memory_order_relaxed;
constexpr std::memory_order acquire = std::memory_order_acquire;
constexpr std::memory_order release = std::memory_order_release;

struct SeqLock {
    std::atomic<int> count, one, other;

    SeqLock() {
        count.store(0);
        one.store(0);
        other.store(0);
    }

    void read(int *a, int *b) {
        for (;;) {
            const int before = count.load(acquire);
            if (before % 2 == 1) continue;
            *a = one.load(acquire);
            *b = other.load(acquire);
            if (count.load(relaxed) == before) return;
        }
    }

    void write(int value) {
        for (;;) {
            int before = count.load(relaxed);
            if (before % 2 == 1) continue;
            if (count.compare_exchange_strong(before, before + 1, relaxed, relaxed)) break;
        }
        one.store(value, release);
        other.store(value, release);
        count.fetch_add(1, release);
    }
};

static SeqLock *lock;

static void *writes_three(void *unused) {
    lock->write(3);
    return unused;
}

static void *writes_two(void *unused) {
    lock->write(2);
    return unused;
}

static void *reads(void *unused) {
    int a, b;
    lock->read(&a, &b);
    assert(a == b);
    return unused;
}

int main() {
    lock = new SeqLock;
    pthread_t threads[3];
    pthread_create(&threads[0], nullptr, writes_three, nullptr);
    pthread_create(&threads[1], nullptr, writes_two, nullptr);
    pthread_create(&threads[2], nullptr, reads, nullptr);
    for (pthread_t &thread : threads) pthread_join(thread, nullptr);
}
