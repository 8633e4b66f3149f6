// Drepper's mutex, 0 free, 1 taken, 2 taken and somebody may sleep.
// fencepost check [CFLAGS=-DN=2]: pass
// fencepost test --executions 300 [CFLAGS=-DN=2]: pass
// With one waiter there is nobody to forget.
// fencepost check [CFLAGS=-DN=2 -DFORGETS]: pass
// fencepost test --executions 300 [CFLAGS=-DN=2 -DFORGETS]: pass
// Whoever was woken takes the lock as 1, and its unlock does not wake the other one.
// fencepost check [CFLAGS=-DN=3 -DFORGETS]: fail deadlock
// The wake-up comes before the lock is free.
// fencepost check [CFLAGS=-DN=2 -DLATE]: fail deadlock
#include "futex.h"
static atomic_int mutex;
static int counter;

static int compare_exchange(int expected, int desired) {
    atomic_compare_exchange_strong(&mutex, &expected, desired);
    return expected;
}

static void lock(void) {
    int seen = compare_exchange(0, 1);
    if (seen != 0 && seen != 2)
        seen = atomic_exchange(&mutex, 2);
    while (seen != 0) {
        wait_on(&mutex, 2);
#ifdef FORGETS
        seen = compare_exchange(0, 1);
#else
        seen = atomic_exchange(&mutex, 2);
#endif
    }
}

static void unlock(void) {
#ifdef LATE
    if (atomic_load(&mutex) == 2)
        wake(&mutex, 1);
    atomic_store(&mutex, 0);
#else
    if (atomic_fetch_sub(&mutex, 1) != 1) {
        atomic_store(&mutex, 0);
        wake(&mutex, 1);
    }
#endif
}

static void *increments(void *u) {
    lock();
    counter++;
    unlock();
    return u;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], 0, increments, 0);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    assert(counter == N);
    return 0;
}
