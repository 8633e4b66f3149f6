/* What the harnesses of the data structures share: operations that record their results, and the check that some
 * order of the operations, each taken as a whole, gives these results. Nothing here is instrumented, so that it adds
 * nothing to what is looked for; with -DSMALL everything is, and there are fewer operations, so that `check` and `safe`
 * come to an end. */
#ifndef HARNESS_H
#define HARNESS_H

#include <assert.h>

#define MAX_THREADS 3
#define MAX_OPERATIONS 5
#ifdef SMALL
#define UNSEEN __attribute__((noinline))
#else
#define UNSEEN __attribute__((no_sanitize_thread, noinline))
#endif

struct operation {
    int kind, argument, result;
};

/* What each thread did, in its order. */
static struct operation done[MAX_THREADS][MAX_OPERATIONS];
static int counts[MAX_THREADS];

UNSEEN static void record(int thread, int kind, int argument, int result) {
    struct operation *operation = &done[thread][counts[thread]++];
    operation->kind = kind;
    operation->argument = argument;
    operation->result = result;
}

#endif
