// A block is published before what it holds, read by another thread, and freed. Under pso the reader may find what was
// there before; to use the block after it was freed is a failure, after which not everything is explored.
// fencepost check --model sc: fail use-after-free
// fencepost check --model pso: fail use-after-free
// fencepost test --model pso --keep-going: fail assertion use-after-free
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(int *) block;

static void *reader(void *unused) {
    int *found = atomic_load(&block);
    if (found) assert(*found == 1);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, reader, NULL);
    int *fresh = malloc(sizeof *fresh);
    *fresh = 1;
    atomic_exchange_explicit(&block, fresh, memory_order_relaxed);
    free(atomic_exchange_explicit(&block, NULL, memory_order_relaxed));
    pthread_join(thread, NULL);
    return 0;
}
