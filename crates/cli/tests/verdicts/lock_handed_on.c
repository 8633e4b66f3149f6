// A lock is initialised, and then handed on through memory: whoever finds it there comes behind its initialisation,
// which is no store that could be late. Who does not look may use it while it is initialised.
// fencepost check --model sc: pass
// fencepost check --model tso: pass
// fencepost check --model pso: pass
// fencepost check --model pslo: pass
// fencepost test --model sc: pass
// fencepost test --model pso: pass
// fencepost check --model sc [CFLAGS=-DBLIND]: fail mutex-misuse
// fencepost check --model pso [CFLAGS=-DBLIND]: fail mutex-misuse
#include <pthread.h>
static pthread_mutex_t lock;
static volatile int ready;
static void *one(void *unused) {
    pthread_mutex_init(&lock, 0);
    ready = 1;
    return unused;
}
static void *two(void *unused) {
#ifndef BLIND
    if (!ready)
        return unused;
#endif
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, one, 0);
    pthread_create(&threads[1], 0, two, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
