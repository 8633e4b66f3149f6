// What is registered for quick_exit runs while other threads go on.
// fencepost check: fail assertion
// fencepost check [CFLAGS=-DRIGHT]: pass, 3 executions
// fencepost test: fail assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int steps;
static void at_the_end(void) {
#ifdef RIGHT
    assert(steps < 3);
#else
    assert(steps != 1);
#endif
}
static void *other(void *u) {
    steps = 1;
    steps = 2;
    return u;
}
int main(void) {
    pthread_t t;
    at_quick_exit(at_the_end);
    pthread_create(&t, 0, other, 0);
    quick_exit(0);
}
