/* A reader-writer lock in one word: the number of readers, or -1 for a writer.

   Published: the textbook algorithm (Courtois, Heymans, Parnas, Concurrent control with readers and writers, CACM
   1971) on one word.
   Bug: the one that C11Tester's authors injected (Luo and Demsky, ASPLOS 2021, section 7.1): the write lock is taken
   with relaxed order. What the lock protects is atomic, so that there is no data race: but the stores of two writers
   may come in another order in memory than the writers had the lock.
   Fix (-DFIXED): taking the write lock acquires.
   Fencepost says: assertion `first == second` fails. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#ifdef FIXED
#define WRITE_LOCK memory_order_acquire
#else
#define WRITE_LOCK memory_order_relaxed
#endif

static atomic_int lock, data[2];

static void read_lock(void) {
    int readers = atomic_load_explicit(&lock, memory_order_relaxed);
    while (readers < 0 || !atomic_compare_exchange_weak_explicit(&lock, &readers, readers + 1, memory_order_acquire,
                                                                  memory_order_relaxed)) {
        sched_yield();
        readers = atomic_load_explicit(&lock, memory_order_relaxed);
    }
}

static void read_unlock(void) { atomic_fetch_sub_explicit(&lock, 1, memory_order_release); }

static void write_lock(void) {
    int free = 0;
    while (!atomic_compare_exchange_weak_explicit(&lock, &free, -1, WRITE_LOCK, memory_order_relaxed)) {
        sched_yield();
        free = 0;
    }
}

static void write_unlock(void) { atomic_store_explicit(&lock, 0, memory_order_release); }

static void write_both(int value) {
    write_lock();
    atomic_store_explicit(&data[0], value, memory_order_relaxed);
    atomic_store_explicit(&data[1], value, memory_order_relaxed);
    write_unlock();
}

static void read_both(void) {
    read_lock();
    int first = atomic_load_explicit(&data[0], memory_order_relaxed);
    int second = atomic_load_explicit(&data[1], memory_order_relaxed);
    read_unlock();
    assert(first == second);
}

static void *writer_and_reader(void *me) {
    write_both(1 + (int)(long)me);
    read_both();
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, writer_and_reader, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 0;
}
