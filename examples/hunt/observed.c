/* A result that only a specification calls wrong: a flag that is seen before what it announces. -DFENCES adds what
 * is missing. */
#include <fencepost.h>
#include <pthread.h>
#include <stdatomic.h>

static volatile int data, flag;

static void *publish(void *argument) {
    fencepost_op_begin("publish");
    data = 1; /* 1 */
#ifdef FENCES
    atomic_thread_fence(memory_order_release);
#endif
    flag = 1; /* 2 */
    fencepost_op_end();
    return argument;
}

static void *take(void *argument) {
    fencepost_op_begin("take");
    int taken = flag ? data : -1; /* 3 */
    fencepost_op_end();
    fencepost_observe("taken", taken);
    return argument;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, publish, 0);
    pthread_create(&threads[1], 0, take, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
