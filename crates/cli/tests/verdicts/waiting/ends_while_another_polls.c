// The same where main ends the process as well, and a third thread reads what is polled: the older or the newer write,
// and for each of these either end.
// fencepost check --model sc --method graph: pass, 4 executions
// fencepost check --model sc --method rf: pass, 4 executions
// fencepost check --model sc --method causal: pass, 2 executions
// fencepost check --model tso --method rf: pass, 4 executions
// fencepost check --model pso --method rf: pass, 4 executions
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
static atomic_uchar a;
static void *writer(void *p) {
    atomic_store(&a, 0);
    return p;
}
static void *poller(void *p) {
    while (!atomic_load_explicit(&a, memory_order_acquire)) sched_yield();
    atomic_store(&a, 2);
    return p;
}
static void *reader(void *p) {
    atomic_load_explicit(&a, memory_order_acquire);
    _exit(0);
    return p;
}
int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], 0, writer, 0);
    pthread_create(&t[1], 0, poller, 0);
    pthread_create(&t[2], 0, reader, 0);
    exit(0);
}
