// One thread ends the process, the other fails: whichever is first.
// fencepost check: fail assertion
// fencepost check --model tso: fail assertion
// fencepost test: fail assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int x;
static void *a(void *u) { exit(0); }
static void *b(void *u) { assert(0); return u; }
int main(void) {
    pthread_t t, s;
    pthread_create(&t, 0, a, 0);
    pthread_create(&s, 0, b, 0);
    pthread_join(t, 0); pthread_join(s, 0);
    return 0;
}
