/* A harness for queues, after Relaxer 5.2: one thread enqueues twice, dequeues twice and enqueues; the other
 * dequeues twice, enqueues twice and dequeues. The results must be those of some order of the operations. With -DSMALL
 * one enqueues and dequeues, the other dequeues and enqueues. */
#ifndef QUEUE_H
#define QUEUE_H

#include "harness.h"
#include <pthread.h>

enum { ENQUEUE, DEQUEUE };
#define EMPTY (-1)

static void enqueue(int value);
static int dequeue(void);

struct queue {
    int values[MAX_THREADS * MAX_OPERATIONS];
    int first, end;
};

UNSEEN static int explained(struct queue queue, int next[MAX_THREADS]) {
    int all = 1;
    for (int t = 0; t < MAX_THREADS; t++) {
        if (next[t] == counts[t])
            continue;
        all = 0;
        struct operation *operation = &done[t][next[t]];
        struct queue after = queue;
        if (operation->kind == ENQUEUE)
            after.values[after.end++] = operation->argument;
        else if (operation->result != (after.first < after.end ? after.values[after.first++] : EMPTY))
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
    struct queue empty = {{0}, 0, 0};
    int next[MAX_THREADS] = {0};
    assert(explained(empty, next));
}

static void put(int thread, int value) {
    enqueue(value);
    record(thread, ENQUEUE, value, 0);
}

static void take(int thread) {
    record(thread, DEQUEUE, 0, dequeue());
}

static void *producer(void *argument) {
    put(0, 1);
#ifndef SMALL
    put(0, 2);
    take(0);
    take(0);
    put(0, 3);
#else
    take(0);
#endif
    return argument;
}

static void *consumer(void *argument) {
    take(1);
#ifndef SMALL
    take(1);
    put(1, 4);
    put(1, 5);
    take(1);
#else
    put(1, 4);
#endif
    return argument;
}

/* A third thread, for the cycles that need one. */
static void *third(void *argument) {
    put(2, 6);
    take(2);
    return argument;
}

#ifndef THREADS
#define THREADS 2
#endif

static void run(void) {
    void *(*bodies[MAX_THREADS])(void *) = {producer, consumer, third};
    pthread_t threads[MAX_THREADS];
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], 0, bodies[t], 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], 0);
    check();
}

#endif
