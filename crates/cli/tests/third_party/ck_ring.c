// Concurrency Kit's ring between one producer and one consumer.
#include <ck_ring.h>
#include <assert.h>
#include <pthread.h>
#include <sched.h>

static ck_ring_t ring;
static ck_ring_buffer_t buffer[4];
static int elements[4] = {0, 1, 2, 3};

static void *produce(void *unused) {
    for (int i = 0; i < 4; i++)
        while (!ck_ring_enqueue_spsc(&ring, buffer, &elements[i])) sched_yield();
    return unused;
}

static void *consume(void *unused) {
    for (int i = 0; i < 4; i++) {
        void *element;
        while (!ck_ring_dequeue_spsc(&ring, buffer, &element)) sched_yield();
        assert(*(int *)element == i);
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    ck_ring_init(&ring, 4);
    pthread_create(&threads[0], NULL, produce, NULL);
    pthread_create(&threads[1], NULL, consume, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert(ck_ring_size(&ring) == 0);
}
