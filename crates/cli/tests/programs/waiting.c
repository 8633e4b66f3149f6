/* Threads that wait for each other in loops, for a count, for their turn, for a lock that is
   exchanged, with and without giving way. Correct: under no schedule does anything go wrong. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int next, serving, locked, count;

static void *ticket(void *unused) {
    int mine = atomic_fetch_add(&next, 1);
    while (atomic_load(&serving) != mine) {
    }
    atomic_fetch_add(&count, 1);
    atomic_store(&serving, mine + 1);
    return unused;
}

static void *exchange(void *unused) {
    while (atomic_exchange(&locked, 1)) {
        while (atomic_load(&locked)) sched_yield();
    }
    atomic_fetch_add(&count, 1);
    atomic_store(&locked, 0);
    return unused;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, i % 2 ? ticket : exchange, 0);
    pthread_t last;
    pthread_create(&last, 0, exchange, 0);
    while (atomic_load(&count) < 5) {
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    pthread_join(last, 0);
    assert(atomic_load(&count) == 5);
    return 0;
}
