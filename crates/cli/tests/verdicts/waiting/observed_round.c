// A thread polls two locks: it takes `second`, tries `first`, and gives `second` back. In such a round another thread
// can fail to take `second`, so that the round cannot be left out, whatever else is going on.
//
// `other` (1), `tries` (2) and `poller` (3) take `first` in six orders. If 2 comes after 3, `second` is taken by the
// last round then, or free: 2 executions each (3 1 2, 3 2 1, 1 3 2). Otherwise it is free, before or after that round,
// or taken by it, which are 3; or it is taken by a round that has failed, because of 2 (2 3 1) or because of 1 or 2
// (2 1 3, 1 2 3), which are 1, 2 and 2 more. In all 20.
//
// fencepost check --method graph --model sc: pass, exactly 20 executions
// fencepost check --method graph --model sc --jobs 2: pass, exactly 20 executions
// fencepost check --method graph --model tso: pass, exactly 20 executions
// fencepost check --method rf --model sc: pass, exactly 20 executions
// fencepost check --method graph --model c11: pass

#include <pthread.h>
#include <sched.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

static void *other(void *unused) {
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    return unused;
}

static void *tries(void *unused) {
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    if (pthread_mutex_trylock(&second) == 0) pthread_mutex_unlock(&second);
    return unused;
}

static void *poller(void *unused) {
    for (;;) {
        pthread_mutex_lock(&second);
        if (pthread_mutex_trylock(&first) == 0) break;
        pthread_mutex_unlock(&second);
        sched_yield();
    }
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    return unused;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, other, NULL);
    pthread_create(&threads[1], NULL, tries, NULL);
    pthread_create(&threads[2], NULL, poller, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 0;
}
