// There is a wake-up for each of them.
// fencepost check [CFLAGS=-DMOST=2]: pass
// fencepost test --executions 300 [CFLAGS=-DMOST=2]: pass
// All are woken.
// fencepost check [CFLAGS=-DMOST=INT_MAX]: pass
// fencepost test --executions 300 [CFLAGS=-DMOST=INT_MAX]: pass
// If both sleep, one of them is not woken.
// fencepost check [CFLAGS=-DMOST=1]: fail deadlock
#include "futex.h"
static atomic_int gate;

static void *waiter(void *u) {
    while (atomic_load(&gate) == 0)
        wait_on(&gate, 0);
    return u;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, waiter, 0);
    pthread_create(&t, 0, waiter, 0);
    atomic_store(&gate, 1);
    wake(&gate, MOST);
    pthread_join(s, 0);
    pthread_join(t, 0);
    return 0;
}
