// One thread polls under a lock, another keeps the lock while it waits for what may never come. Rounds of the first
// that end where it must wait for the lock are rounds for nothing, too: without that, each round gave rise to one more.
// fencepost check: pass
// fencepost check --model sc: pass
// fencepost check --model sc --method rf: pass, 1 executions
// fencepost check --model sc --method causal: pass, 1 executions
// fencepost check --model pso --method causal: pass, 1 executions
// fencepost check [CFLAGS=-DNEVER]: fail livelock
// fencepost check --model sc [CFLAGS=-DNEVER]: fail livelock
// fencepost check --model tso [CFLAGS=-DNEVER]: fail livelock
// fencepost check --model sc --method rf [CFLAGS=-DNEVER]: fail livelock
// fencepost check --model sc --method causal [CFLAGS=-DNEVER]: fail livelock
// fencepost check --model pso --method causal [CFLAGS=-DNEVER]: fail livelock
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int flag;
static int ready;
static void *keeper(void *p) {
    pthread_mutex_lock(&lock);
    while (!atomic_load_explicit(&flag, memory_order_acquire)) sched_yield();
    ready = 1;
    pthread_mutex_unlock(&lock);
    return p;
}
static void *poller(void *p) {
    for (;;) {
        pthread_mutex_lock(&lock);
        int seen = ready;
        pthread_mutex_unlock(&lock);
        if (seen) return p;
        sched_yield();
    }
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, keeper, 0);
    pthread_create(&b, 0, poller, 0);
#ifndef NEVER
    atomic_store_explicit(&flag, 1, memory_order_release);
#endif
    pthread_join(a, 0);
    pthread_join(b, 0);
}
