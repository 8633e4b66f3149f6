/* The Michael-Scott queue: a list with a head and a tail, whose threads help each other to move the tail on.

   Published: Michael and Scott, Simple, fast, and practical non-blocking and blocking concurrent queue algorithms,
   PODC 1996, figure 1. Nodes are not reused here, so that pointers need no counts.
   Bug: a node is linked to the list with relaxed order: whoever finds it there may not find its value.
   Fix (-DFIXED): the link is made with release order.
   Fencepost says: data race on the node's value. With --spec atomic the values that were dequeued are judged, too. */
#include <assert.h>
#include <fencepost.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#ifdef FIXED
#define LINK memory_order_release
#else
#define LINK memory_order_relaxed
#endif

#define ITEMS 2

struct node {
    int value;
    _Atomic(struct node *) next;
};

static struct node nodes[ITEMS + 1]; /* the first is the dummy */
static _Atomic(struct node *) head = &nodes[0], tail = &nodes[0];

static void enqueue(struct node *node, int value) {
    node->value = value;
    for (;;) {
        struct node *last = atomic_load_explicit(&tail, memory_order_acquire);
        struct node *next = atomic_load_explicit(&last->next, memory_order_acquire);
        if (next != NULL) {
            atomic_compare_exchange_strong_explicit(&tail, &last, next, memory_order_release, memory_order_relaxed);
        } else if (atomic_compare_exchange_strong_explicit(&last->next, &next, node, LINK, memory_order_relaxed)) {
            atomic_compare_exchange_strong_explicit(&tail, &last, node, memory_order_release, memory_order_relaxed);
            return;
        }
    }
}

static bool dequeue(int *value) {
    for (;;) {
        struct node *first = atomic_load_explicit(&head, memory_order_acquire);
        struct node *last = atomic_load_explicit(&tail, memory_order_acquire);
        struct node *next = atomic_load_explicit(&first->next, memory_order_acquire);
        if (next == NULL) return false;
        if (first == last) {
            atomic_compare_exchange_strong_explicit(&tail, &last, next, memory_order_release, memory_order_relaxed);
            continue;
        }
        *value = next->value;
        if (atomic_compare_exchange_strong_explicit(&head, &first, next, memory_order_acq_rel, memory_order_relaxed))
            return true;
    }
}

static int dequeued[ITEMS];

static void *producer(void *item) {
    long i = (long)item;
    fencepost_op_begin("enqueue");
    enqueue(&nodes[i], (int)i);
    fencepost_op_end();
    return NULL;
}

static void *consumer(void *which) {
    int value;
    fencepost_op_begin("dequeue");
    if (dequeue(&value)) dequeued[(long)which] = value;
    fencepost_op_end();
    return NULL;
}

int main(void) {
    pthread_t threads[2 * ITEMS];
    for (long i = 0; i < ITEMS; i++) {
        pthread_create(&threads[2 * i], NULL, producer, (void *)(i + 1));
        pthread_create(&threads[2 * i + 1], NULL, consumer, (void *)i);
    }
    for (int i = 0; i < 2 * ITEMS; i++) pthread_join(threads[i], NULL);
    fencepost_observe("first dequeue", dequeued[0]);
    fencepost_observe("second dequeue", dequeued[1]);
    assert(dequeued[0] == 0 || dequeued[0] != dequeued[1]);
    return 0;
}
