// A race on a member of an element, under a flag that is a member too.
#include <pthread.h>
#include <stdatomic.h>

struct slot {
    long key, value;
};

static struct {
    atomic_int ready;
    struct slot slots[4];
} table;

static void *writer(void *argument) {
    table.slots[3].value = 7;
    atomic_store_explicit(&table.ready, 1, memory_order_relaxed);
    return argument;
}

static void *reader(void *argument) {
    long sum = 0;
    if (atomic_load_explicit(&table.ready, memory_order_relaxed))
        sum = table.slots[3].value;
    return sum ? argument : 0;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, writer, 0);
    pthread_create(&threads[1], 0, reader, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
}
