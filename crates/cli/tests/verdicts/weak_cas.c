// A weak compare-exchange may fail for no reason.
// fencepost check: fail assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *f(void *u) { atomic_load(&x); return u; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, f, 0);
    int e = 0, ok = atomic_compare_exchange_weak(&x, &e, 1);
    pthread_join(t, 0);
    assert(ok);              /* a weak compare-exchange may fail spuriously: docs/models.md */
    return 0;
}
