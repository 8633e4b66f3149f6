// Peterson's lock in functions without instrumentation: nobody sees what they do to memory, and under tso the lock is
// broken. That cannot be a pass, nor safe. Variables of the program, with accesses in both threads.
//
// fencepost check --model sc: incomplete
// fencepost check --model tso: incomplete
// fencepost check --model c11: incomplete
// fencepost check --model tso --method causal: incomplete
// fencepost safe --model tso: incomplete
// fencepost check --model tso [CFLAGS=-O2]: incomplete
#include <assert.h>
#include <pthread.h>

#define HIDDEN __attribute__((no_sanitize("thread"), noinline))

static volatile int flag[2], turn, inside;

HIDDEN static void lock(int me) {
    flag[me] = 1;
    turn = 1 - me;
    while (flag[1 - me] && turn == 1 - me) {}
}

HIDDEN static void unlock(int me) {
    flag[me] = 0;
}

HIDDEN static void critical(void) {
    inside++;
    assert(inside == 1);
    inside--;
}

static void *run(void *arg) {
    int me = arg != NULL;
    lock(me);
    critical();
    unlock(me);
    return NULL;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, run, NULL);
    pthread_create(&two, NULL, run, &one);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
