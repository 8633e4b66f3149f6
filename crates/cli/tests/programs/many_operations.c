/* Too many operations to try all their orders: 15!/(5!)^3 of them. */
#include <fencepost.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int counter;

static void *count(void *unused) {
    for (int i = 0; i < 5; i++) {
        fencepost_op_begin("add");
        atomic_fetch_add(&counter, 1);
        fencepost_op_end();
    }
    return unused;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, count, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    fencepost_observe("counter", atomic_load(&counter));
    return 0;
}
