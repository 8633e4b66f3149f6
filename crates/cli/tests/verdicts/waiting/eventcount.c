// Count and condition are seq_cst on both sides, so that one of the two sees the other.
// fencepost check: pass
// fencepost test --executions 300: pass
// A fence before the look at the count, and the kernel's own barrier before the comparison.
// fencepost check [CFLAGS=-DFENCE]: pass
// fencepost test --executions 300 [CFLAGS=-DFENCE]: pass
// The look at the count may come before the store.
// fencepost check [CFLAGS=-DWEAK]: fail deadlock
#include "futex.h"
#if defined FENCE || defined WEAK
#define ORDER memory_order_relaxed
#else
#define ORDER memory_order_seq_cst
#endif
static atomic_int gate, waiters;

static void *waiter(void *u) {
    atomic_fetch_add_explicit(&waiters, 1, ORDER);
    while (atomic_load_explicit(&gate, ORDER) == 0)
        wait_on(&gate, 0);
    return u;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, waiter, 0);
    atomic_store_explicit(&gate, 1, ORDER);
#ifdef FENCE
    atomic_thread_fence(memory_order_seq_cst);
#endif
    if (atomic_load_explicit(&waiters, ORDER) != 0)
        wake(&gate, INT_MAX);
    pthread_join(t, 0);
    return 0;
}
