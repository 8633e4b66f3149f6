/* A seqlock: writers make a counter odd while they write; a reader that finds it even and the same before and after
   has read a consistent record.

   Published: Boehm, Can seqlocks get along with programming language memory models?, MSPC 2012, figure 5.
   Bug: the one that C11Tester's authors injected (Luo and Demsky, ASPLOS 2021, section 7.1): the counter is first
   incremented with relaxed order. A second writer then does not synchronise with the first, and in the modification
   order its data may come first although it ran later. Tools that take the order of execution for the modification
   order cannot find it.
   Fix (-DFIXED): the first increment acquires.
   Here three threads write records of eight words: the more words, the likelier it is that one of them is out of
   order.
   Fencepost says: assertion `seen[0] == seen[i]` fails in reader. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#ifdef FIXED
#define BEGIN memory_order_acquire
#else
#define BEGIN memory_order_relaxed
#endif

#define WRITERS 3
#define READERS 2
#define WORDS 8 /* of the record that is written and read as one */

static atomic_uint sequence;
static atomic_int data[WORDS];

static void write_record(int value) {
    unsigned seen = atomic_load_explicit(&sequence, memory_order_relaxed);
    while (seen % 2 != 0 ||
           !atomic_compare_exchange_weak_explicit(&sequence, &seen, seen + 1, BEGIN, memory_order_relaxed)) {
        sched_yield();
        seen = atomic_load_explicit(&sequence, memory_order_relaxed);
    }
    for (int i = 0; i < WORDS; i++) atomic_store_explicit(&data[i], value, memory_order_release);
    atomic_store_explicit(&sequence, seen + 2, memory_order_release);
}

static void *writer(void *me) {
    write_record(1 + (int)(long)me);
    return NULL;
}

static void *reader(void *unused) {
    for (;;) {
        unsigned before = atomic_load_explicit(&sequence, memory_order_acquire);
        int seen[WORDS];
        for (int i = 0; i < WORDS; i++) seen[i] = atomic_load_explicit(&data[i], memory_order_acquire);
        unsigned after = atomic_load_explicit(&sequence, memory_order_relaxed);
        if (before == after && before % 2 == 0) {
            for (int i = 1; i < WORDS; i++) assert(seen[0] == seen[i]);
            if (before == 2 * WRITERS) return unused; /* all have written */
        }
        sched_yield();
    }
}

int main(void) {
    pthread_t threads[WRITERS + READERS];
    for (long i = 0; i < WRITERS; i++) pthread_create(&threads[i], NULL, writer, (void *)i);
    for (int i = 0; i < READERS; i++) pthread_create(&threads[WRITERS + i], NULL, reader, NULL);
    for (int i = 0; i < WRITERS + READERS; i++) pthread_join(threads[i], NULL);
    return 0;
}
