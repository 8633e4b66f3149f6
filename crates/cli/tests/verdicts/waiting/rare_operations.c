// Where those who wait would go is not followed.
// fencepost check [CFLAGS=-DREQUEUE]: incomplete
// Which wake-up is meant for whom is not followed.
// fencepost check [CFLAGS=-DBITS=1]: incomplete
// Every wake-up is meant for everybody.
// fencepost check [CFLAGS=-DBITS=FUTEX_BITSET_MATCH_ANY]: pass
// fencepost test --executions 300 [CFLAGS=-DBITS=FUTEX_BITSET_MATCH_ANY]: pass
#include "futex.h"
static atomic_int gate, other;

static void *waiter(void *u) {
    while (atomic_load(&gate) == 0)
#ifdef BITS
        syscall(SYS_futex, &gate, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, BITS);
#else
        wait_on(&gate, 0);
#endif
    return u;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, waiter, 0);
    atomic_store(&gate, 1);
#ifdef BITS
    syscall(SYS_futex, &gate, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, BITS);
#else
    syscall(SYS_futex, &gate, FUTEX_REQUEUE_PRIVATE, 1, (void *)(uintptr_t)INT_MAX, &other, 0);
#endif
    pthread_join(t, 0);
    return 0;
}
