// -DMOST=2 pass: there is a wake-up for each of them
// -DMOST=INT_MAX pass: all are woken
// -DMOST=1 deadlock: if both sleep, one of them is not woken
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
