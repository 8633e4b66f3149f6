/* Treiber's stack with relaxed compare-exchanges: a node is pushed before all see what is in it. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
    atomic_int value;
    struct node *_Atomic next;
};

static struct node *_Atomic top;

static void push(int value) {
    struct node *node = malloc(sizeof *node);
    atomic_store_explicit(&node->value, value, memory_order_relaxed);
    struct node *old = atomic_load_explicit(&top, memory_order_relaxed);
    for (;;) {
        atomic_store_explicit(&node->next, old, memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&top, &old, node, memory_order_relaxed, memory_order_relaxed))
            break;
    }
}

static int pop(void) {
    struct node *old = atomic_load_explicit(&top, memory_order_relaxed);
    while (old) {
        struct node *next = atomic_load_explicit(&old->next, memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&top, &old, next, memory_order_relaxed, memory_order_relaxed))
            return atomic_load_explicit(&old->value, memory_order_relaxed);
    }
    return -1;
}

static void *pusher(void *argument) {
    push(1);
    push(2);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, pusher, 0);
    int one = pop();
    int other = pop();
    assert(one != 0 && other != 0);
    pthread_join(thread, 0);
    return 0;
}
