// The store comes before the wake-up, so that either the comparison sees it or the waiter is found.
// fencepost check: pass
// fencepost test --executions 300: pass
// The word itself needs no order.
// fencepost check [CFLAGS=-DRELAXED]: pass
// fencepost test --executions 300 [CFLAGS=-DRELAXED]: pass
// A wake-up before the store finds nobody, and nobody comes again.
// fencepost check [CFLAGS=-DWAKE_FIRST]: fail deadlock
// Nobody wakes.
// fencepost check [CFLAGS=-DNO_WAKE]: fail deadlock
// The waiter falls asleep on the value that it waits for.
// fencepost check [CFLAGS=-DEXPECTED=1]: fail deadlock
// EAGAIN every time, until the store is seen.
// fencepost check [CFLAGS=-DEXPECTED=2]: pass
// fencepost test --executions 300 [CFLAGS=-DEXPECTED=2]: pass
// EAGAIN every time, and nobody stores.
// fencepost check [CFLAGS=-DNO_STORE=1 -DEXPECTED=2]: fail livelock
#include "futex.h"
#ifdef RELAXED
#define ORDER memory_order_relaxed
#else
#define ORDER memory_order_seq_cst
#endif
#ifndef EXPECTED
#define EXPECTED 0
#endif
static atomic_int gate;

static void *waiter(void *u) {
    while (atomic_load_explicit(&gate, ORDER) == 0)
        wait_on(&gate, EXPECTED);
    return u;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, waiter, 0);
#ifdef WAKE_FIRST
    wake(&gate, 1);
#endif
#ifndef NO_STORE
    atomic_store_explicit(&gate, 1, ORDER);
#endif
#if !defined WAKE_FIRST && !defined NO_WAKE
    wake(&gate, 1);
#endif
    pthread_join(t, 0);
    return 0;
}
