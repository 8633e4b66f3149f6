// pass: the store comes before the wake-up, so that either the comparison sees it or the waiter is found
// -DRELAXED pass: the word itself needs no order
// -DWAKE_FIRST deadlock: a wake-up before the store finds nobody, and nobody comes again
// -DNO_WAKE deadlock: nobody wakes
// -DEXPECTED=1 deadlock: the waiter falls asleep on the value that it waits for
// -DEXPECTED=2 pass: EAGAIN every time, until the store is seen
// -DNO_STORE=1 -DEXPECTED=2 livelock: EAGAIN every time, and nobody stores
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
