// A loop that waits for a flag or a time ends when the time has come, whoever else waits. Rounds in which the clock
// shows the same second are not the same to the thread: the next one may be the last.
// fencepost check: pass
// fencepost check --model sc: pass
// fencepost check [CFLAGS=-DSET]: pass
// fencepost check --model tso [CFLAGS=-DSET]: pass
// fencepost check [CFLAGS=-DSLEEP]: pass
// fencepost check [CFLAGS=-DNOTHING]: pass, 1 executions
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
static atomic_int flag;
static void *poll(void *p) {
    time_t start = time(0);
#ifdef NOTHING
    while (time(0) < start + 2) sched_yield();
#else
    while (!atomic_load_explicit(&flag, memory_order_acquire) && time(0) < start + 2) {
#ifdef SLEEP
        usleep(1000);
#else
        sched_yield();
#endif
    }
#endif
    return p;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, poll, 0);
#ifdef SET
    atomic_store_explicit(&flag, 1, memory_order_release);
#endif
    pthread_join(t, 0);
}
