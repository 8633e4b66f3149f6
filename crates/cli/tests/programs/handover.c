/* An operation that waits inside for another one: take waits until put has put something there. Two threads put, one
 * takes twice. */
#include <fencepost.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int place;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* Replaces `from` when it is there, whatever that takes; any but 0 if `from` is -1. */
static int replace(int from, int to) {
    for (;;) {
#ifdef BLOCK
        pthread_mutex_lock(&mutex);
        while (from == -1 ? atomic_load(&place) == 0 : atomic_load(&place) != from) pthread_cond_wait(&changed, &mutex);
        int found = atomic_exchange(&place, to);
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
        return found;
#else
        int found = atomic_load(&place);
        int fits = from == -1 ? found != 0 : found == from;
        if (fits && atomic_compare_exchange_strong(&place, &found, to)) return found;
#ifdef YIELD
        sched_yield();
#endif
#endif
    }
}

static void *put(void *value) {
    fencepost_op_begin("put");
    replace(0, (int)(long)value);
    fencepost_op_end();
    return NULL;
}

static void *take(void *unused) {
    static const char *const keys[] = {"first", "second"};
    for (int i = 0; i < 2; i++) {
        fencepost_op_begin("take");
        int value = replace(-1, 0);
        fencepost_op_end();
        fencepost_observe(keys[i], value);
    }
    return unused;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, take, NULL);
    pthread_create(&threads[1], NULL, put, (void *)1);
    pthread_create(&threads[2], NULL, put, (void *)2);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 0;
}
