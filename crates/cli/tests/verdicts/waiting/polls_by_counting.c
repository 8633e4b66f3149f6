// A thread that polls counts itself in and out, so that its round reads what it wrote itself. If it is too late for
// anything to change, it does so forever; otherwise it ends, and so do two of them, whose counts go up and down in any
// order.
// fencepost check [CFLAGS=-DNEVER]: fail livelock
// fencepost check --model sc [CFLAGS=-DNEVER]: fail livelock
// fencepost check --model sc --method rf [CFLAGS=-DNEVER]: fail livelock
// fencepost check --model sc --method causal [CFLAGS=-DNEVER]: fail livelock
// fencepost check [CFLAGS=-DNEVER -DRWLOCK]: fail livelock
// fencepost check --model pso [CFLAGS=-DNEVER -DSEMAPHORE]: fail livelock
// fencepost check [CFLAGS=-DNEVER -DSEMAPHORE]: fail livelock
// fencepost check [CFLAGS=-DTWO]: pass
// fencepost check --model tso [CFLAGS=-DTWO]: pass
// fencepost check [CFLAGS=-DTWO -DRWLOCK]: pass
// fencepost check --model sc [CFLAGS=-DTWO -DRWLOCK]: pass
// fencepost check [CFLAGS=-DTWO -DSEMAPHORE]: pass
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static atomic_int count, flag;

#ifdef RWLOCK
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static void in(void) { pthread_rwlock_rdlock(&lock); }
static void out(void) { pthread_rwlock_unlock(&lock); }
#elif defined(SEMAPHORE)
static sem_t semaphore;
static void in(void) { sem_wait(&semaphore); }
static void out(void) { sem_post(&semaphore); }
#else
static void in(void) { atomic_fetch_add(&count, 1); }
static void out(void) { atomic_fetch_sub(&count, 1); }
#endif

static void *sets(void *unused) {
    atomic_store(&flag, 1);
    return unused;
}

static void *polls(void *unused) {
    for (;;) {
        in();
        int now = atomic_load(&flag);
        out();
#ifdef NEVER
        if (!now) return unused;
#else
        if (now) return unused;
#endif
    }
}

int main(void) {
    pthread_t threads[3];
#ifdef SEMAPHORE
    sem_init(&semaphore, 0, 2);
#endif
    pthread_create(&threads[0], NULL, sets, NULL);
    pthread_create(&threads[1], NULL, polls, NULL);
#ifdef TWO
    pthread_create(&threads[2], NULL, polls, NULL);
    pthread_join(threads[2], NULL);
#endif
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
