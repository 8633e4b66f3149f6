/* A ticket lock: take a number, wait until it is called.

   Published: Reed and Kanodia, Synchronization with eventcounts and sequencers, CACM 1979; Mellor-Crummey and Scott,
   TOCS 1991, figure 2.
   Bug: a thread waits for its number with a relaxed load, and so does not synchronise with the thread that called
   it.
   Fix (-DFIXED): the load acquires.
   Fencepost says: data race on `counter`. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#ifdef FIXED
#define WAIT memory_order_acquire
#else
#define WAIT memory_order_relaxed
#endif

#define THREADS 3

static atomic_uint next_ticket, now_serving;
static int counter;

static void lock(void) {
    unsigned mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
    while (atomic_load_explicit(&now_serving, WAIT) != mine) sched_yield();
}

static void unlock(void) {
    unsigned mine = atomic_load_explicit(&now_serving, memory_order_relaxed);
    atomic_store_explicit(&now_serving, mine + 1, memory_order_release);
}

static void *count(void *unused) {
    lock();
    counter++;
    unlock();
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, count, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert(counter == THREADS);
    return 0;
}
