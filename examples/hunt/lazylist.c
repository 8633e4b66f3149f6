/* The lazy list-based set of Heller et al.: locks for writers, none for readers. Correct under sequential
 * consistency and tso. Under pso a node can be linked before its fields are written: -DFENCES adds a store-store
 * fence before statement 12, and load-load fences for pslo. */
#include "set.h"
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef FENCES
#define FENCE_STORES() atomic_thread_fence(memory_order_release)
#define FENCE_LOADS() atomic_thread_fence(memory_order_acquire)
#else
#define FENCE_STORES() ((void)0)
#define FENCE_LOADS() ((void)0)
#endif

struct node {
    volatile int key, marked;
    struct node *volatile next;
    pthread_mutex_t lock;
};

static struct node *volatile head;

static struct node *new_node(int key, struct node *next) {
    struct node *node = malloc(sizeof *node);
    pthread_mutex_init(&node->lock, 0);
    node->key = key; /* 1 */
    node->marked = 0; /* 2 */
    node->next = next; /* 3 */
    return node;
}

static int valid(struct node *before, struct node *node) {
    if (before->marked) /* 4 */
        return 0;
    if (node->marked) /* 5 */
        return 0;
    return before->next == node; /* 6 */
}

/* Finds the first node with at least that key, and the one before it; both are locked. */
static struct node *find(int key, struct node **found) {
    for (;;) {
        struct node *before = head; /* 7 */
        FENCE_LOADS();
        struct node *node = before->next; /* 8 */
        FENCE_LOADS();
        while (node->key < key) { /* 9 */
            before = node;
            node = node->next; /* 10 */
            FENCE_LOADS();
        }
        pthread_mutex_lock(&before->lock);
        pthread_mutex_lock(&node->lock);
        if (valid(before, node)) {
            *found = node;
            return before;
        }
        pthread_mutex_unlock(&node->lock);
        pthread_mutex_unlock(&before->lock);
    }
}

static int insert(int key) {
    struct node *node, *before = find(key, &node);
    int there = node->key == key; /* 11 */
    if (!there) {
        struct node *fresh = new_node(key, node);
        FENCE_STORES();
        before->next = fresh; /* 12 */
    }
    pthread_mutex_unlock(&node->lock);
    pthread_mutex_unlock(&before->lock);
    return !there;
}

static int delete(int key) {
    struct node *node, *before = find(key, &node);
    int there = node->key == key; /* 13 */
    if (there) {
        node->marked = 1; /* 14 */
        FENCE_STORES();
        before->next = node->next; /* 15 */
    }
    pthread_mutex_unlock(&node->lock);
    pthread_mutex_unlock(&before->lock);
    return there;
}

static int contains(int key) {
    struct node *node = head; /* 16 */
    FENCE_LOADS();
    while (node->key < key) { /* 17 */
        node = node->next; /* 18 */
        FENCE_LOADS();
    }
    if (node->key != key) /* 19 */
        return 0;
    return !node->marked; /* 20 */
}

int main(void) {
    struct node *end = new_node(INT_MAX, 0);
    head = new_node(INT_MIN, end);
    run();
    return 0;
}
