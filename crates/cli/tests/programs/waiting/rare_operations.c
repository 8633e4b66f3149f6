// -DREQUEUE incomplete: where those who wait would go is not followed
// -DBITS=1 incomplete: which wake-up is meant for whom is not followed
// -DBITS=FUTEX_BITSET_MATCH_ANY pass: every wake-up is meant for everybody
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
