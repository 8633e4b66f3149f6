// A thread is cancelled before what it may wait for is there: it gets it only if it was there before it was cancelled,
// and so never here. Whoever waits for it next gets it. -DTIMED: it waits until some time; -DJOIN: for a thread's end.
// fencepost test --model sc: pass
// fencepost check --model sc: incomplete
// fencepost check --model tso: incomplete
// fencepost check: incomplete
// fencepost check --model sc [CFLAGS=-DTIMED]: pass
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static sem_t semaphore;

static void *waits(void *unused) {
#ifdef TIMED
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    sem_timedwait(&semaphore, &until);
#else
    sem_wait(&semaphore);
#endif
    return unused;
}

int main(void) {
    pthread_t waiter;
    sem_init(&semaphore, 0, 0);
    pthread_create(&waiter, 0, waits, 0);
    pthread_cancel(waiter);
    sem_post(&semaphore);
    sem_wait(&semaphore);
    pthread_join(waiter, 0);
}
