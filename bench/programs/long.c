// Two threads and very many atomic operations: KIND COUNT (counter, flag or stores), where each thread makes COUNT
// rounds.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static char kind;
static long count;
static atomic_long turn, x, y;
static long data;

static void *work(void *argument) {
    long me = (long)argument;
    for (long i = 0; i < count; i++) {
        if (kind == 'c') {
            atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed);
        } else if (kind == 'f') {
            // Each waits for the other's release.
            while (atomic_load_explicit(&turn, memory_order_acquire) % 2 != me)
                ;
            data++;
            atomic_fetch_add_explicit(&turn, 1, memory_order_release);
        } else {
            // Nothing ever tells a thread what the other has done.
            atomic_store_explicit(me ? &x : &y, i, memory_order_relaxed);
        }
    }
    return NULL;
}

int main(int arguments, char **values) {
    if (arguments != 3)
        return 2;
    kind = values[1][0];
    count = atol(values[2]);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return kind == 'c' && turn != 2 * count;
}
