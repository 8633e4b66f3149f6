/* Long executions: threads work on memory of their own before they come to the point, and others see that memory. Each
 * definition is a mistake; without any the program is right under every model. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { WORDS = 32, ROUNDS = 1000, NODES = 10 };

struct node {
    long value;
    struct node *next;
};

static long tables[2][WORDS];
static struct node *volatile heads[NODES];
static volatile long wants[2];
static long inside;
static atomic_int here, done;
static volatile int never;

/* Far more accesses than an execution has that is not long. */
static void work(long *table) {
    for (int round = 1; round <= ROUNDS; round++)
        for (int i = 0; i < WORDS; i++)
            table[i] = round * i;
}

/* Both come to what they want at the same time. */
static void meet(void) {
    atomic_fetch_add(&here, 1);
    while (atomic_load(&here) < 2)
        ;
}

static void *first(void *argument) {
    work(tables[0]);
    for (int i = 0; i < NODES; i++) {
        struct node *node = malloc(sizeof *node);
        node->value = i;
        node->next = 0;
#ifndef PUBLISH
        atomic_thread_fence(memory_order_seq_cst);
#endif
        heads[i] = node;
    }
    meet();
    wants[0] = 1;
#ifndef BUFFER
    atomic_thread_fence(memory_order_seq_cst);
#endif
    if (!wants[1])
        inside++;
#ifdef FREED
    long *own = malloc(2 * sizeof *own);
    for (int i = 0; i < 100; i++)
        own[1] = i;
    free(own);
    own[1] = 0;
#endif
    atomic_store(&done, 1);
    return argument;
}

static void *second(void *argument) {
    work(tables[1]);
    for (int i = 0; i < NODES; i++) {
        struct node *node;
        while (!(node = heads[i]))
            ;
        assert(node->value == i && !node->next);
    }
    meet();
    wants[1] = 1;
#ifndef BUFFER
    atomic_thread_fence(memory_order_seq_cst);
#endif
    if (!wants[0])
        inside++;
#ifdef SPIN
    while (!never)
        ;
#endif
    /* What the other thread has stored without an operation is there, and nothing of it is older. */
    if (atomic_load(&done))
        for (int i = 0; i < WORDS; i++)
            assert(tables[0][i] == ROUNDS * i);
    return argument;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    assert(inside < 2);
    for (int i = 0; i < WORDS; i++)
        assert(tables[0][i] == ROUNDS * i && tables[1][i] == ROUNDS * i);
    return 0;
}
