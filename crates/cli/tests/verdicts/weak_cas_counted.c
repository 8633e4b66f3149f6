// Five attempts of a weak compare-exchange may all fail for no reason.
// fencepost check: fail assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *f(void *u) { return u; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, f, 0);
    int done = 0;
    for (int i = 0; i < 5 && !done; i++) {
        int expected = 0;
        done = atomic_compare_exchange_weak(&x, &expected, 1);
    }
    pthread_join(t, 0);
    assert(done);
    return 0;
}
