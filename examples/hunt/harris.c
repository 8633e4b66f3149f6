/* Harris's non-blocking list-based set: a node is deleted by marking its next pointer, and unlinked later by whoever
 * passes. Without reclamation. Correct under sequential consistency and tso. Under pso a node can be linked before
 * its fields are written: -DFENCES adds what is missing. */
#include "set.h"
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
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

/* A pointer whose lowest bit is the mark. */
typedef uintptr_t link;

struct node {
    volatile int key;
    _Atomic link next;
};

static struct node *volatile head;

static struct node *target(link at) {
    return (struct node *)(at & ~(link)1);
}

static struct node *new_node(int key, struct node *next) {
    struct node *node = malloc(sizeof *node);
    node->key = key; /* 1 */
    atomic_store_explicit(&node->next, (link)next, memory_order_relaxed); /* 2 */
    return node;
}

/* The first unmarked node with at least that key, and the one before it; marked ones in between are unlinked. */
static struct node *find(int key, struct node **found) {
again:;
    struct node *before = head; /* 3 */
    FENCE_LOADS();
    struct node *node = target(load(&before->next)); /* 4 */
    for (;;) {
        FENCE_LOADS();
        link next = load(&node->next); /* 5 */
        while (next & 1) {
            link old = (link)node;
            if (!cas(&before->next, &old, next & ~(link)1)) /* 6 */
                goto again;
            node = target(next);
            FENCE_LOADS();
            next = load(&node->next); /* 7 */
        }
        if (node->key >= key) { /* 8 */
            *found = node;
            return before;
        }
        before = node;
        node = target(next);
    }
}

static int insert(int key) {
    for (;;) {
        struct node *node, *before = find(key, &node);
        if (node->key == key) /* 9 */
            return 0;
        struct node *fresh = new_node(key, node);
        FENCE_STORES();
        link old = (link)node;
        if (cas(&before->next, &old, (link)fresh)) /* 10 */
            return 1;
    }
}

static int delete(int key) {
    for (;;) {
        struct node *node, *before = find(key, &node);
        if (node->key != key) /* 11 */
            return 0;
        link next = load(&node->next); /* 12 */
        if (next & 1)
            continue;
        if (cas(&node->next, &next, next | 1)) { /* 13 */
            link old = (link)node;
            cas(&before->next, &old, next); /* 14 */
            return 1;
        }
    }
}

static int contains(int key) {
    struct node *node = head; /* 15 */
    FENCE_LOADS();
    while (node->key < key) { /* 16 */
        node = target(load(&node->next)); /* 17 */
        FENCE_LOADS();
    }
    return node->key == key && !(load(&node->next) & 1); /* 18 */
}

int main(void) {
    struct node *end = new_node(INT_MAX, 0);
    head = new_node(INT_MIN, end);
    run();
    return 0;
}
