/* The reader-writer lock of older Linux kernels: a counter that starts at a bias; a reader takes 1, a writer the
   whole bias.

   Published: arch/x86/include/asm/spinlock.h of Linux 2.6; as a C11 benchmark (linuxrwlocks) by Norris and Demsky,
   OOPSLA 2013.
   Bug: a thread that did not get the lock at once tries again with relaxed order (the bug that the tsan11 benchmarks
   put there): it has the lock, but has not synchronised with whoever held it before.
   Fix (-DFIXED): the second try acquires, like the first.
   Fencepost says: data race on `shared`. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#ifdef FIXED
#define RETRY memory_order_acquire
#else
#define RETRY memory_order_relaxed
#endif

#define BIAS 0x00100000

static atomic_int lock = BIAS;
static int shared;

static void read_lock(void) {
    int before = atomic_fetch_sub_explicit(&lock, 1, memory_order_acquire);
    while (before <= 0) {
        atomic_fetch_add_explicit(&lock, 1, memory_order_relaxed);
        while (atomic_load_explicit(&lock, memory_order_relaxed) <= 0) sched_yield();
        before = atomic_fetch_sub_explicit(&lock, 1, RETRY);
    }
}

static void read_unlock(void) { atomic_fetch_add_explicit(&lock, 1, memory_order_release); }

static void write_lock(void) {
    int before = atomic_fetch_sub_explicit(&lock, BIAS, memory_order_acquire);
    while (before != BIAS) {
        atomic_fetch_add_explicit(&lock, BIAS, memory_order_relaxed);
        while (atomic_load_explicit(&lock, memory_order_relaxed) != BIAS) sched_yield();
        before = atomic_fetch_sub_explicit(&lock, BIAS, RETRY);
    }
}

static void write_unlock(void) { atomic_fetch_add_explicit(&lock, BIAS, memory_order_release); }

static void *reader_and_writer(void *unused) {
    read_lock();
    sched_yield(); /* lets the other one come while the lock is held */
    int seen = shared;
    read_unlock();
    write_lock();
    sched_yield();
    shared = seen + 1;
    write_unlock();
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, reader_and_writer, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
