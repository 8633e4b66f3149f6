// Three threads push two elements each to a stack made of a compare-and-swap, one of them pops them all at once.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct node {
    struct node *next;
    int value;
};
static struct node nodes[3][2];
static _Atomic(struct node *) top;
static int sum;

static void *push(void *argument) {
    struct node *mine = argument;
    for (int i = 0; i < 2; i++) {
        mine[i].value = 1;
        struct node *old = atomic_load_explicit(&top, memory_order_relaxed);
        do {
            mine[i].next = old;
        } while (!atomic_compare_exchange_weak_explicit(&top, &old, &mine[i], memory_order_release,
                                                        memory_order_relaxed));
    }
    return NULL;
}

static void take(void) {
    for (struct node *n = atomic_exchange_explicit(&top, NULL, memory_order_acquire); n; n = n->next) sum += n->value;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, push, nodes[i]);
    take();
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    take();
    assert(sum == 6);
}
