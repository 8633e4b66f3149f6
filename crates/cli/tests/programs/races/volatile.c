/* Store buffering with volatile variables, or a message behind a volatile flag. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static volatile int x, y;
int r0, r1;

#ifdef MESSAGE
int message;
static void *one(void *unused) {
    message = 1;
    x = 1;
    return unused;
}
static void *two(void *unused) {
    if (x)
        r1 = message;
    return unused;
}
#else
static void *one(void *unused) {
    x = 1;
    r0 = y;
    return unused;
}
static void *two(void *unused) {
    y = 1;
    r1 = x;
    return unused;
}
#endif

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, one, 0);
    pthread_create(&b, 0, two, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(x == 1);
#ifndef MESSAGE
    assert(y == 1);
    return r0 * 2 + r1;
#endif
    return 0;
}
