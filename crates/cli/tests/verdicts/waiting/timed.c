// It is woken, finds another value, or its time is over.
// fencepost check: pass
// fencepost test --executions 300: pass
// Its time may be over before the store.
// fencepost check [CFLAGS=-DBAD]: fail assertion
#include "futex.h"
static atomic_int gate;

static void *waiter(void *u) {
    struct timespec time = {0, 1000000};
    long result = syscall(SYS_futex, &gate, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
    if (result == 0 || errno == EAGAIN)
        assert(atomic_load(&gate) == 1);
    else
        assert(errno == ETIMEDOUT);
#ifdef BAD
    assert(atomic_load(&gate) == 1);
#endif
    return u;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, waiter, 0);
    atomic_store(&gate, 1);
    wake(&gate, 1);
    pthread_join(t, 0);
    return 0;
}
