// An exchange of 1 for 1 waits.
// fencepost check: pass, 2 executions
// fencepost check --model sc: pass, 2 executions
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
atomic_int l; int data;
static void *t(void *p) {
    while (atomic_exchange_explicit(&l, 1, memory_order_acquire)) ;
    data++;
    atomic_store_explicit(&l, 0, memory_order_release);
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, t, 0);
    pthread_create(&b, 0, t, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(data == 2);
    return 0;
}
