// Two threads take two locks in different orders; who does not get the second gives the first back and tries again.
// They may do so forever, but what they do then is nothing: there are two executions.
// fencepost check: pass, 2 executions
// fencepost check --model sc: pass, 2 executions
// fencepost check --model tso: pass, 2 executions
// fencepost check --model pso: pass, 2 executions
// fencepost check --model pso --method rf: pass, 2 executions
// fencepost check --model pso --method causal: pass, 2 executions
// fencepost check [CFLAGS=-DORDER=12]: fail assertion
// fencepost check [CFLAGS=-DORDER=21]: fail assertion
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static int order;
static void both(pthread_mutex_t *first, pthread_mutex_t *second, int id) {
    for (;;) {
        pthread_mutex_lock(first);
        if (pthread_mutex_trylock(second) == 0)
            break;
        pthread_mutex_unlock(first);
    }
    order = 10 * order + id;
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}
static void *other(void *u) {
    both(&m, &n, 2);
    return u;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    both(&n, &m, 1);
    pthread_join(t, 0);
#ifdef ORDER
    assert(order != ORDER);
#else
    assert(order == 12 || order == 21);
#endif
    return 0;
}
