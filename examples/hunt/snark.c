/* The Snark double-ended queue of Detlefs et al., on a double compare-and-swap that is one step to all others. Without
 * reclamation. Two threads each push right, push left, pop right and pop left (Relaxer 5.2). Under pso a node can be
 * linked before its fields are written: -DFENCES adds what is missing. */
#include "harness.h"
#include <fencepost.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef FENCES
#define FENCE_STORES() atomic_thread_fence(memory_order_release)
#define FENCE_LOADS() atomic_thread_fence(memory_order_acquire)
#else
#define FENCE_STORES() ((void)0)
#define FENCE_LOADS() ((void)0)
#endif
#define EMPTY (-1)

struct node {
    struct node *volatile right, *volatile left;
    volatile int value;
};

static struct node *volatile right_hat, *volatile left_hat;
static struct node *dummy;

static void push_right(int value) {
    struct node *node = malloc(sizeof *node);
    node->right = dummy; /* 1 */
    node->value = value; /* 2 */
    for (;;) {
        struct node *hat = right_hat; /* 3 */
        FENCE_LOADS();
        struct node *next = hat->right; /* 4 */
        if (next == hat) {
            node->left = dummy; /* 5 */
            struct node *other = left_hat; /* 6 */
            FENCE_STORES();
            if (fencepost_dcas(&right_hat, &left_hat, hat, other, node, node))
                return;
        } else {
            node->left = hat; /* 7 */
            FENCE_STORES();
            if (fencepost_dcas(&right_hat, &hat->right, hat, next, node, node))
                return;
        }
    }
}

static void push_left(int value) {
    struct node *node = malloc(sizeof *node);
    node->left = dummy; /* 8 */
    node->value = value; /* 9 */
    for (;;) {
        struct node *hat = left_hat; /* 10 */
        FENCE_LOADS();
        struct node *next = hat->left; /* 11 */
        if (next == hat) {
            node->right = dummy; /* 12 */
            struct node *other = right_hat; /* 13 */
            FENCE_STORES();
            if (fencepost_dcas(&left_hat, &right_hat, hat, other, node, node))
                return;
        } else {
            node->right = hat; /* 14 */
            FENCE_STORES();
            if (fencepost_dcas(&left_hat, &hat->left, hat, next, node, node))
                return;
        }
    }
}

static int pop_right(void) {
    for (;;) {
        struct node *hat = right_hat; /* 15 */
        FENCE_LOADS();
        struct node *other = left_hat; /* 16 */
        FENCE_LOADS();
        if (hat->right == hat) /* 17 */
            return EMPTY;
        if (hat == other) {
            if (fencepost_dcas(&right_hat, &left_hat, hat, other, dummy, dummy))
                return hat->value; /* 18 */
        } else {
            struct node *next = hat->left; /* 19 */
            if (fencepost_dcas(&right_hat, &hat->left, hat, next, next, hat)) {
                int value = hat->value; /* 20 */
                hat->right = dummy; /* 21 */
                return value;
            }
        }
    }
}

static int pop_left(void) {
    for (;;) {
        struct node *hat = left_hat; /* 22 */
        FENCE_LOADS();
        struct node *other = right_hat; /* 23 */
        FENCE_LOADS();
        if (hat->left == hat) /* 24 */
            return EMPTY;
        if (hat == other) {
            if (fencepost_dcas(&left_hat, &right_hat, hat, other, dummy, dummy))
                return hat->value; /* 25 */
        } else {
            struct node *next = hat->right; /* 26 */
            if (fencepost_dcas(&left_hat, &hat->right, hat, next, next, hat)) {
                int value = hat->value; /* 27 */
                hat->left = dummy; /* 28 */
                return value;
            }
        }
    }
}

enum { PUSH_RIGHT, PUSH_LEFT, POP_RIGHT, POP_LEFT };

struct deque {
    int values[4 * MAX_OPERATIONS];
    int first, end;
};

UNSEEN static int explained(struct deque deque, int next[MAX_THREADS]) {
    int all = 1;
    for (int t = 0; t < MAX_THREADS; t++) {
        if (next[t] == counts[t])
            continue;
        all = 0;
        struct operation *operation = &done[t][next[t]];
        struct deque after = deque;
        int empty = after.first == after.end, result = EMPTY;
        if (operation->kind == PUSH_RIGHT)
            after.values[after.end++] = operation->argument;
        else if (operation->kind == PUSH_LEFT)
            after.values[--after.first] = operation->argument;
        else if (!empty)
            result = operation->kind == POP_RIGHT ? after.values[--after.end] : after.values[after.first++];
        if (operation->kind >= POP_RIGHT && operation->result != result)
            continue;
        next[t]++;
        int found = explained(after, next);
        next[t]--;
        if (found)
            return 1;
    }
    return all;
}

UNSEEN static void check(void) {
    struct deque empty = {{0}, 2 * MAX_OPERATIONS, 2 * MAX_OPERATIONS};
    int next[MAX_THREADS] = {0};
    assert(explained(empty, next));
}

static void *use(void *argument) {
    int me = argument != 0;
    push_right(10 * me + 1);
    record(me, PUSH_RIGHT, 10 * me + 1, 0);
    push_left(10 * me + 2);
    record(me, PUSH_LEFT, 10 * me + 2, 0);
    record(me, POP_RIGHT, 0, pop_right());
    record(me, POP_LEFT, 0, pop_left());
    return 0;
}

int main(void) {
    pthread_t threads[2];
    dummy = malloc(sizeof *dummy);
    dummy->left = dummy->right = dummy;
    right_hat = left_hat = dummy;
    pthread_create(&threads[0], 0, use, 0);
    pthread_create(&threads[1], 0, use, &threads);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    check();
    return 0;
}
