/* Mutual exclusion with one bit for each thread (Burns, Lamport), without fences. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define load(place) atomic_load_explicit(place, memory_order_relaxed)
#define store(place, value) atomic_store_explicit(place, value, memory_order_relaxed)

static atomic_int wants[2], inside;

static void work(void) {
    int before = atomic_fetch_add_explicit(&inside, 1, memory_order_relaxed);
    assert(before == 0);
    atomic_fetch_sub_explicit(&inside, 1, memory_order_relaxed);
}

static void *first(void *argument) {
    store(&wants[0], 1);
    while (load(&wants[1])) {
    }
    work();
    store(&wants[0], 0);
    return argument;
}

static void *second(void *argument) {
    for (;;) {
        store(&wants[1], 1);
        if (load(&wants[0]) == 0)
            break;
        store(&wants[1], 0);
        while (load(&wants[0])) {
        }
    }
    work();
    store(&wants[1], 0);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, first, 0);
    second(0);
    pthread_join(thread, 0);
    return 0;
}
