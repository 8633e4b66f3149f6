/* The two-lock queue of Michael and Scott, with the statement numbers of Relaxer's figure 10.
 *
 * Correct under sequential consistency and tso. Under pso a node can be linked before its fields are written:
 * -DSTORE_STORE adds the fence before statement 5. Under pslo its fields can even then be read too early:
 * -DLOAD_LOAD adds the fence behind statement 10. -DPAYLOAD=20 makes a node so many words larger: a store that is late
 * must then wait in a buffer with as many others. */
#include "queue.h"
#include <stdatomic.h>
#include <stdlib.h>

#ifdef STORE_STORE
#define FENCE_STORES() atomic_thread_fence(memory_order_release)
#else
#define FENCE_STORES() ((void)0)
#endif
#ifdef LOAD_LOAD
#define FENCE_LOADS() atomic_thread_fence(memory_order_acquire)
#else
#define FENCE_LOADS() ((void)0)
#endif

struct node {
    struct node *volatile next;
    volatile int data;
#ifdef PAYLOAD
    volatile int payload[PAYLOAD];
#endif
};

static pthread_mutex_t head_lock = PTHREAD_MUTEX_INITIALIZER, tail_lock = PTHREAD_MUTEX_INITIALIZER;
static struct node *volatile head, *volatile tail;

static void enqueue(int value) {
    struct node *node = malloc(sizeof *node); /* 1 */
    node->data = value; /* 2 */
#ifdef PAYLOAD
    for (int i = 0; i < PAYLOAD; i++)
        node->payload[i] = value;
#endif
    node->next = 0; /* 3 */
    pthread_mutex_lock(&tail_lock); /* 4 */
    FENCE_STORES();
    tail->next = node; /* 5 */
    tail = node; /* 6 */
    pthread_mutex_unlock(&tail_lock); /* 7 */
}

static int dequeue(void) {
    pthread_mutex_lock(&head_lock); /* 8 */
    struct node *node = head; /* 9 */
    struct node *new_head = node->next; /* 10 */
    FENCE_LOADS();
    if (new_head) { /* 11 */
        head = new_head; /* 12 */
        pthread_mutex_unlock(&head_lock); /* 13 */
        return new_head->data; /* 14 */
    }
    pthread_mutex_unlock(&head_lock); /* 16 */
    return EMPTY; /* 17 */
}

int main(void) {
    struct node *dummy = malloc(sizeof *dummy);
    dummy->next = 0;
    head = tail = dummy;
    run();
    return 0;
}
