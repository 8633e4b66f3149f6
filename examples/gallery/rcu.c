/* Read-copy-update: readers mark their sections with a counter, which is odd inside; a writer puts a new version in
   place, waits until every reader that was inside has left, and frees the old one.

   Published: McKenney and Slingwine, Read-copy update: using execution history to solve concurrency problems, PDCS
   1998; in user space: Desnoyers and others, User-level implementations of read-copy update, TPDS 2012.
   Bug: the reader has lost the full fence at the beginning of its section: it may have the old version before the
   writer can see that it is inside.
   Fix (-DFIXED): the fence.
   Fencepost says: use after free in the reader (or the race that it is). */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define READERS 2

struct version {
    int a, b;
};

static _Atomic(struct version *) current;
static atomic_uint sections[READERS];

static void read_begin(int me) {
    unsigned count = atomic_load_explicit(&sections[me], memory_order_relaxed);
    atomic_store_explicit(&sections[me], count + 1, memory_order_relaxed);
#ifdef FIXED
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

static void read_end(int me) {
    unsigned count = atomic_load_explicit(&sections[me], memory_order_relaxed);
    atomic_store_explicit(&sections[me], count + 1, memory_order_release);
}

static void wait_for_readers(void) {
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 0; i < READERS; i++) {
        unsigned count = atomic_load_explicit(&sections[i], memory_order_acquire);
        if (count % 2 == 0) continue;
        while (atomic_load_explicit(&sections[i], memory_order_acquire) == count) sched_yield();
    }
}

static struct version *new_version(int number) {
    struct version *v = malloc(sizeof *v);
    v->a = v->b = number;
    return v;
}

static void *reader(void *me) {
    int i = (int)(long)me;
    read_begin(i);
    struct version *v = atomic_load_explicit(&current, memory_order_acquire);
    assert(v->a == v->b);
    read_end(i);
    return NULL;
}

static void *writer(void *unused) {
    struct version *old = atomic_load_explicit(&current, memory_order_relaxed);
    atomic_store_explicit(&current, new_version(2), memory_order_release);
    wait_for_readers();
    free(old);
    return unused;
}

int main(void) {
    pthread_t threads[READERS + 1];
    atomic_store_explicit(&current, new_version(1), memory_order_relaxed);
    for (long i = 0; i < READERS; i++) pthread_create(&threads[i], NULL, reader, (void *)i);
    pthread_create(&threads[READERS], NULL, writer, NULL);
    for (int i = 0; i <= READERS; i++) pthread_join(threads[i], NULL);
    free(atomic_load(&current));
    return 0;
}
