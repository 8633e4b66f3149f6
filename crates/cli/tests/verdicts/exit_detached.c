// A thread that nobody waits for may run before main looks.
// fencepost check: fail assertion
// fencepost test: fail assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *t(void *u) { atomic_store(&x, 1); return u; }
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, t, 0);
    pthread_detach(a);
    assert(atomic_load(&x) == 0);   /* fails whenever t runs first */
    return 0;
}
