/* Peterson's mutual exclusion of two threads, without fences. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define load(place) atomic_load_explicit(place, memory_order_relaxed)
#define store(place, value) atomic_store_explicit(place, value, memory_order_relaxed)

static atomic_int flag[2], turn, inside;

static void *enter(void *argument) {
    int me = argument != 0, other = 1 - me;
    store(&flag[me], 1);
    store(&turn, other);
    for (;;) {
        if (load(&flag[other]) == 0)
            break;
        if (load(&turn) == me)
            break;
    }
    int before = atomic_fetch_add_explicit(&inside, 1, memory_order_relaxed);
    assert(before == 0);
    atomic_fetch_sub_explicit(&inside, 1, memory_order_relaxed);
    store(&flag[me], 0);
    return 0;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, enter, &thread);
    enter(0);
    pthread_join(thread, 0);
    return 0;
}
