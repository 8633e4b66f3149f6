/* A hazard pointer that is published too late: under tso the store of `hazard` can wait in its buffer while the reader
 * looks whether the node is still there, and the writer frees what is about to be read. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
    int value;
};

static _Atomic(struct node *) shared, hazard;

static void *reader(void *argument) {
    struct node *node;
    do {
        node = atomic_load_explicit(&shared, memory_order_acquire);
        atomic_store_explicit(&hazard, node, memory_order_release);
    } while (node != atomic_load_explicit(&shared, memory_order_acquire));
    if (node->value == 0) // use
        abort();
    atomic_store_explicit(&hazard, NULL, memory_order_release);
    return argument;
}

static void *writer(void *argument) {
    struct node *fresh = malloc(sizeof *fresh);
    fresh->value = 2;
    struct node *old = atomic_exchange(&shared, fresh);
    while (atomic_load(&hazard) == old)
        ;
    free(old);
    return argument;
}

int main(void) {
    struct node *node = malloc(sizeof *node);
    node->value = 1;
    atomic_store(&shared, node);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, reader, NULL);
    pthread_create(&threads[1], NULL, writer, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    free(atomic_load(&shared));
    return 0;
}
