// A loop that does nothing but give way, as compilers leave it where the variable is never written: forever.
// fencepost check: fail livelock
// fencepost check --model sc: fail livelock
// fencepost check --model tso --method rf: fail livelock
// fencepost check [CFLAGS=-DENDS]: pass, 1 executions
#include <pthread.h>
#include <sched.h>
static void *thread(void *p) {
#ifdef ENDS
    for (int i = 0; i < 100; i++) sched_yield();
#else
    for (;;) sched_yield();
#endif
    return p;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, thread, 0);
    pthread_join(t, 0);
}
