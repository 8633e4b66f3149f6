// A thread that does nothing but wait has the smallest frame there is. That it waits must be seen all the same, however
// the frame is laid out.
// fencepost check: pass, 2 executions
// fencepost check --model sc: pass, 2 executions
// fencepost check [CFLAGS=-O0]: pass, 2 executions
// fencepost check [CFLAGS=-O2]: pass, 2 executions
// fencepost check [CFLAGS=-fno-omit-frame-pointer]: pass, 2 executions
// fencepost check [CFLAGS=-DNEVER]: fail livelock
#include <pthread.h>
#include <stdatomic.h>
static atomic_int flag;
static void *wait_for_it(void *p) {
    while (!atomic_load_explicit(&flag, memory_order_acquire)) {
    }
    return p;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, wait_for_it, 0);
#ifndef NEVER
    atomic_store_explicit(&flag, 1, memory_order_release);
#endif
    pthread_join(t, 0);
}
