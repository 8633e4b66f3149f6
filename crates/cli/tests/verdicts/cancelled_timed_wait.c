// A thread is cancelled before it takes a semaphore that it would wait for until some time; -DJOIN: before it looks
// whether another has ended.
// fencepost test --model sc: fail assertion
// fencepost check: fail assertion
// fencepost check --model sc: fail assertion
// fencepost check --model tso [CFLAGS=-DJOIN]: fail assertion
// fencepost check --model sc [CFLAGS=-DJOIN]: fail assertion
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static sem_t semaphore;
static pthread_t other;

static void *does_nothing(void *unused) { return unused; }

static void *waits(void *unused) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
#ifdef JOIN
    pthread_timedjoin_np(other, 0, &until);
#else
    sem_timedwait(&semaphore, &until);
#endif
    return unused;
}

int main(void) {
    pthread_t waiter;
    sem_init(&semaphore, 0, 1);
    pthread_create(&other, 0, does_nothing, 0);
    pthread_create(&waiter, 0, waits, 0);
    pthread_cancel(waiter);
    void *result;
    pthread_join(waiter, &result);
    assert(result != PTHREAD_CANCELED);
}
