/* A harness for sets, after Relaxer 5.2: 3 and 7 are in; one thread inserts -1 and removes 2, one removes 3, inserts
 * 1 and looks for 7, one looks for 3 and inserts -5. The results must be those of some order of the operations. */
#ifndef SET_H
#define SET_H

#include "harness.h"
#include <pthread.h>

enum { INSERT, REMOVE, CONTAINS };

static int insert(int key);
static int delete(int key);
static int contains(int key);

/* Keys from -8 to 23 as bits. */
UNSEEN static int explained(unsigned set, int next[MAX_THREADS]) {
    int all = 1;
    for (int t = 0; t < MAX_THREADS; t++) {
        if (next[t] == counts[t])
            continue;
        all = 0;
        struct operation *operation = &done[t][next[t]];
        unsigned bit = 1u << (operation->argument + 8), after = set;
        int there = (set & bit) != 0;
        if (operation->result != (operation->kind == INSERT ? !there : there))
            continue;
        if (operation->kind == INSERT)
            after |= bit;
        if (operation->kind == REMOVE)
            after &= ~bit;
        next[t]++;
        int found = explained(after, next);
        next[t]--;
        if (found)
            return 1;
    }
    return all;
}

UNSEEN static void check(void) {
    int next[MAX_THREADS] = {0};
    assert(explained(1u << (3 + 8) | 1u << (7 + 8), next));
}

#ifdef SMALL
#define THREADS 2
#else
#define THREADS 3
#endif

static void *first(void *argument) {
    record(0, INSERT, -1, insert(-1));
#ifndef SMALL
    record(0, REMOVE, 2, delete(2));
#endif
    return argument;
}

static void *second(void *argument) {
    record(1, REMOVE, 3, delete(3));
#ifndef SMALL
    record(1, INSERT, 1, insert(1));
    record(1, CONTAINS, 7, contains(7));
#endif
    return argument;
}

static void *third(void *argument) {
    record(2, CONTAINS, 3, contains(3));
    record(2, INSERT, -5, insert(-5));
    return argument;
}

static void run(void) {
    void *(*bodies[MAX_THREADS])(void *) = {first, second, third};
    pthread_t threads[MAX_THREADS];
    insert(3);
    insert(7);
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], 0, bodies[t], 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], 0);
    check();
}

#endif
