/* A seqlock: writers make a counter odd while they write; a reader that finds it even and the same before and after has read a
   consistent pair.

   Published: Boehm, Can seqlocks get along with programming language memory models?, MSPC 2012, figure 5.
   Bug: the one that C11Tester's authors injected (Luo and Demsky, ASPLOS 2021, section 7.1): the counter is first incremented with relaxed
   order. A second writer then does not synchronise with the first, and in the modification order its data may come first although
   it ran later. Tools that take the order of execution for the modification order cannot find it.
   Fix (-DFIXED): the first increment acquires.
   Fencepost says: assertion `first == second` fails in reader. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#ifdef FIXED
#define BEGIN memory_order_acquire
#else
#define BEGIN memory_order_relaxed
#endif

static atomic_uint sequence;
static atomic_int data[2];

static void write_both(int value) {
    unsigned seen = atomic_load_explicit(&sequence, memory_order_relaxed);
    while (seen % 2 != 0 ||
           !atomic_compare_exchange_weak_explicit(&sequence, &seen, seen + 1, BEGIN, memory_order_relaxed)) {
        sched_yield();
        seen = atomic_load_explicit(&sequence, memory_order_relaxed);
    }
    atomic_store_explicit(&data[0], value, memory_order_release);
    atomic_store_explicit(&data[1], value, memory_order_release);
    atomic_store_explicit(&sequence, seen + 2, memory_order_release);
}

static void *writer(void *value) {
    write_both((int)(long)value);
    return NULL;
}

static void *reader(void *unused) {
    for (;;) {
        unsigned before = atomic_load_explicit(&sequence, memory_order_acquire);
        int first = atomic_load_explicit(&data[0], memory_order_acquire);
        int second = atomic_load_explicit(&data[1], memory_order_acquire);
        unsigned after = atomic_load_explicit(&sequence, memory_order_relaxed);
        if (before == after && before % 2 == 0) {
            assert(first == second);
            if (before == 4) return unused; /* both have written */
        }
        sched_yield();
    }
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, writer, (void *)1);
    pthread_create(&threads[1], NULL, writer, (void *)2);
    pthread_create(&threads[2], NULL, reader, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 0;
}
