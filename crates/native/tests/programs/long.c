// Two threads, each with so many rounds: KIND COUNT.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *kind;
static long count;
static atomic_long counter, x, y;
static long data;

static void *work(void *argument) {
    long me = (long)argument;
    for (long i = 0; i < count; i++) {
        if (strcmp(kind, "counter") == 0) {
            atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
        } else if (strcmp(kind, "flag") == 0) {
            while (atomic_load_explicit(&counter, memory_order_acquire) % 2 != me)
                ;
            data++;
            atomic_fetch_add_explicit(&counter, 1, memory_order_release);
        } else if (strcmp(kind, "blocks") == 0) {
            atomic_long *block = malloc(64);
            atomic_init(block, i);
            atomic_fetch_add_explicit(block, 1, memory_order_relaxed);
            if (atomic_load_explicit(block, memory_order_relaxed) != i + 1)
                abort();
            free(block);
        } else {
            atomic_store_explicit(me ? &x : &y, i, memory_order_relaxed);
        }
    }
    return NULL;
}

int main(int arguments, char **values) {
    if (arguments != 3)
        return 2;
    kind = values[1];
    count = atol(values[2]);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    // The last of very many operations goes wrong in every execution.
    if (strcmp(kind, "counter") == 0 && counter == 2 * count)
        return 3;
    return 0;
}
