/* A sequence lock: the writer makes its number odd, writes both words, and makes it even again. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define load(place) atomic_load_explicit(place, memory_order_relaxed)
#define store(place, value) atomic_store_explicit(place, value, memory_order_relaxed)

static atomic_int number, left, right;

static void *writer(void *argument) {
    store(&number, 1);
    store(&left, 7);
    store(&right, 7);
    store(&number, 2);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    int before = load(&number);
    int one = load(&left);
    int other = load(&right);
    int after = load(&number);
    if (before == after && before % 2 == 0)
        assert(one == other);
    pthread_join(thread, 0);
    return 0;
}
