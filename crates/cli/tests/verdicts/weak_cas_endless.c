// A loop that counts how often a weak compare-exchange fails for no reason has no last execution.
// fencepost check: incomplete
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static volatile int failures;
static void *f(void *u) { return u; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, f, 0);
    int expected = 0;
    while (!atomic_compare_exchange_weak(&x, &expected, 1)) {
        expected = 0;
        failures++;
    }
    pthread_join(t, 0);
    return 0;
}
