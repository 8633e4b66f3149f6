/* A spinning barrier: the last of N threads to arrive opens it for the others.

   Published: the sense-reversing centralised barrier of Mellor-Crummey and Scott, Algorithms for scalable
   synchronization on shared-memory multiprocessors, TOCS 1991, figure 8, with a counter of rounds for the sense. One
   writer and three readers as in CDSChecker's benchmark of this name (Norris and Demsky, OOPSLA 2013).
   Bug: the last thread opens the barrier with relaxed order: those that it lets pass do not see what came before it.
   Fix (-DFIXED): the opening increment releases.
   Fencepost says: data race on `message` (write in writer, read in reader). */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#ifdef FIXED
#define OPEN memory_order_release
#else
#define OPEN memory_order_relaxed
#endif

#define READERS 3
#define THREADS (READERS + 1)

static atomic_uint arrived, round_number;
static int message;

static void barrier_wait(void) {
    unsigned mine = atomic_load(&round_number);
    if (atomic_fetch_add(&arrived, 1) == THREADS - 1) {
        atomic_store(&arrived, 0);
        atomic_fetch_add_explicit(&round_number, 1, OPEN);
    } else {
        while (atomic_load(&round_number) == mine) sched_yield();
    }
}

static void *writer(void *unused) {
    message = 1;
    barrier_wait();
    return unused;
}

static void *reader(void *unused) {
    barrier_wait();
    assert(message == 1);
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < READERS; i++) pthread_create(&threads[i], NULL, reader, NULL);
    pthread_create(&threads[READERS], NULL, writer, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return 0;
}
