// Two threads may end the process while main polls a variable that is written with the value it had. Whoever polls to
// the end reads the last write. There is no execution of its own in which it reads the older one.
// fencepost check --model sc --method graph: pass, 2 executions
// fencepost check --model sc --method rf: pass, 2 executions
// fencepost check --model sc --method causal: pass, 2 executions
// fencepost check --model tso --method rf: pass, 2 executions
// fencepost check --model pso --method rf: pass, 2 executions
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int a;
static void *writer(void *p) {
    atomic_store(&a, 0);
    exit(0);
    return p;
}
static void *other(void *p) {
    exit(0);
    return p;
}
int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, writer, 0);
    pthread_create(&two, 0, other, 0);
    while (!atomic_load_explicit(&a, memory_order_acquire)) {}
    pthread_join(one, 0);
    pthread_join(two, 0);
}
