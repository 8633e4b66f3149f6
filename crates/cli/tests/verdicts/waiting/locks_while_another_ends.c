// One thread polls under a lock: its rounds write, and take turns with those of others. Two threads take the lock once
// and end the process. Who polls comes after both of them; they take the lock in either order: two executions, and each
// has two ends. By values these are one.
// fencepost check --model sc --method graph: pass, 4 executions
// fencepost check --model sc --method rf: pass, 4 executions
// fencepost check --model sc --method causal: pass, 2 executions
// fencepost check --model tso --method rf: pass, 4 executions
// fencepost check --model pso --method rf: pass, 4 executions
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static void *ends(void *p) {
    pthread_mutex_lock(&lock);
    ready = 0;
    pthread_mutex_unlock(&lock);
    exit(0);
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, ends, 0);
    pthread_create(&b, 0, ends, 0);
    for (;;) {
        pthread_mutex_lock(&lock);
        int seen = ready;
        pthread_mutex_unlock(&lock);
        if (seen) break;
        sched_yield();
    }
    pthread_join(a, 0);
    pthread_join(b, 0);
}
