/* The non-blocking queue of Michael and Scott, without reclamation. Correct under sequential consistency and tso,
 * whose compare-exchange is a full barrier. Under pso a node can be linked before its fields are written: -DFENCES
 * adds what is missing.
 *
 * The compare-exchanges are relaxed, as hardware without implied barriers has them (Relaxer, figure 5). -DTHREADS=3
 * adds a thread, for cycles of length five (Orion, figure 9). -DPAYLOAD=20 makes a node so many words larger: a store
 * that is late must then wait in a buffer with as many others. */
#include "queue.h"
#include <stdatomic.h>
#include <stdlib.h>

#ifdef FENCES
#define FENCE_STORES() atomic_thread_fence(memory_order_release)
#define FENCE_LOADS() atomic_thread_fence(memory_order_acquire)
#else
#define FENCE_STORES() ((void)0)
#define FENCE_LOADS() ((void)0)
#endif
#define load(place) atomic_load_explicit(place, memory_order_relaxed)
#define cas(place, old, new)                                                                                           \
    atomic_compare_exchange_strong_explicit(place, old, new, memory_order_relaxed, memory_order_relaxed)

struct node {
    struct node *_Atomic next;
    volatile int data;
#ifdef PAYLOAD
    volatile int payload[PAYLOAD];
#endif
};

static struct node *_Atomic head, *_Atomic tail;

static void enqueue(int value) {
    struct node *node = malloc(sizeof *node); /* 1 */
    node->data = value; /* 2 */
#ifdef PAYLOAD
    for (int i = 0; i < PAYLOAD; i++)
        node->payload[i] = value;
#endif
    atomic_store_explicit(&node->next, 0, memory_order_relaxed); /* 3 */
    FENCE_STORES();
    for (;;) {
        struct node *last = load(&tail); /* 5 */
        FENCE_LOADS();
        struct node *next = load(&last->next); /* 6 */
        FENCE_LOADS();
        if (last != load(&tail)) /* 7 */
            continue;
        if (next == 0) {
            if (cas(&last->next, &next, node)) { /* 8 */
                FENCE_STORES();
                cas(&tail, &last, node); /* 9 */
                return;
            }
        } else {
            cas(&tail, &last, next); /* 10 */
        }
    }
}

static int dequeue(void) {
    for (;;) {
        struct node *first = load(&head); /* 11 */
        FENCE_LOADS();
        struct node *last = load(&tail); /* 12 */
        FENCE_LOADS();
        struct node *next = load(&first->next); /* 13 */
        FENCE_LOADS();
        if (first != load(&head)) /* 14 */
            continue;
        if (first == last) {
            if (next == 0)
                return EMPTY;
            cas(&tail, &last, next); /* 15 */
        } else {
            int value = next->data; /* 16 */
            if (cas(&head, &first, next)) /* 17 */
                return value;
        }
    }
}

int main(void) {
    struct node *dummy = malloc(sizeof *dummy);
    atomic_store_explicit(&dummy->next, 0, memory_order_relaxed);
    atomic_store_explicit(&head, dummy, memory_order_relaxed);
    atomic_store_explicit(&tail, dummy, memory_order_relaxed);
    run();
    return 0;
}
