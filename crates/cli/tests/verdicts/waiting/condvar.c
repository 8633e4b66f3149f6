// The sequence number is read under the lock, so that a notification in between changes it.
// fencepost check: pass
// fencepost test --executions 300: pass
// Read after the lock is given back, it may be the number of the notification already.
// fencepost check [CFLAGS=-DBAD]: fail deadlock
#include "futex.h"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int sequence;
static int ready;

static void wait_for_notification(void) {
    int seen = atomic_load(&sequence);
    pthread_mutex_unlock(&mutex);
#ifdef BAD
    seen = atomic_load(&sequence);
#endif
    wait_on(&sequence, seen);
    pthread_mutex_lock(&mutex);
}

static void *waiter(void *u) {
    pthread_mutex_lock(&mutex);
    while (!ready)
        wait_for_notification();
    pthread_mutex_unlock(&mutex);
    return u;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, waiter, 0);
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_mutex_unlock(&mutex);
    atomic_fetch_add(&sequence, 1);
    wake(&sequence, 1);
    pthread_join(t, 0);
    return 0;
}
