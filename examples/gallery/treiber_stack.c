/* Treiber's stack with nodes that are used again: the ABA problem.

   Published: Treiber, Systems programming: coping with parallelism, IBM RJ 5118, 1986, whose stack has the count
   already.
   Bug: the top is a bare name of a node. A thread reads top A and its successor B; meanwhile others pop A, pop B and
   push A again: the exchange finds A at the top and succeeds, and B, which somebody owns, is in the stack.
   Fix (-DFIXED): the top carries a count that every operation increments, so that the exchange fails.
   Fencepost says: the assertion that every node is there once fails. With --spec atomic the nodes that were popped
   are judged, too. */
#include <assert.h>
#include <fencepost.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifdef FIXED
#define STEP 1
#else
#define STEP 0
#endif

#define NODES 3
#define THREADS 3

/* The top of the stack in one word: the number of a node, 0 for none, and the count. */
static uint64_t word(uint32_t node, uint32_t count) { return (uint64_t)count << 32 | node; }
static uint32_t node_of(uint64_t top) { return (uint32_t)top; }
static uint32_t count_of(uint64_t top) { return (uint32_t)(top >> 32); }

static _Atomic uint64_t top;
static _Atomic uint32_t next[NODES + 1];

static void push(uint32_t node) {
    uint64_t old = atomic_load_explicit(&top, memory_order_relaxed);
    do {
        atomic_store_explicit(&next[node], node_of(old), memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&top, &old, word(node, count_of(old) + STEP), memory_order_release,
                                                     memory_order_relaxed));
}

static uint32_t pop(void) {
    uint64_t old = atomic_load_explicit(&top, memory_order_acquire);
    uint32_t after;
    do {
        if (node_of(old) == 0) return 0;
        after = atomic_load_explicit(&next[node_of(old)], memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&top, &old, word(after, count_of(old) + STEP), memory_order_acquire,
                                                     memory_order_acquire));
    return node_of(old);
}

/* Takes two nodes, gives the first back, and keeps the other. */
static void *churn(void *unused) {
    fencepost_op_begin("pop");
    uint32_t first = pop();
    fencepost_op_end();
    fencepost_op_begin("pop");
    uint32_t second = pop();
    fencepost_op_end();
    if (first != 0) {
        fencepost_op_begin("push");
        push(first);
        fencepost_op_end();
    }
    return (void *)(long)second;
}

int main(void) {
    static const char *const keys[THREADS] = {"first keeps", "second keeps", "third keeps"};
    for (uint32_t node = 1; node <= NODES; node++) push(node);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, churn, NULL);
    int times[NODES + 1] = {0};
    for (int i = 0; i < THREADS; i++) {
        void *kept;
        pthread_join(threads[i], &kept);
        fencepost_observe(keys[i], (long)kept);
        times[(long)kept]++;
    }
    for (uint32_t node; (node = pop()) != 0 && times[node] < THREADS;) times[node]++;
    for (int node = 1; node <= NODES; node++) assert(times[node] == 1);
    return 0;
}
