// A thread waits in a loop for what never comes. Another one makes a compare-exchange that fails, which writes what was
// found to a variable of its own, and fails an assertion. What it has written is not the waiting thread's doing: the
// loop is recognised, and the exploration ends.
//
// fencepost check --model sc --keep-going: fail assertion, 1 executions
// fencepost check --model tso --keep-going: fail assertion, 2 executions
// fencepost check --keep-going: fail assertion, 2 executions
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_uint flag;
static unsigned expected = 2;

static void *waits(void *arg) {
    (void)arg;
    while (atomic_load_explicit(&flag, memory_order_relaxed) == 0) sched_yield();
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    atomic_store_explicit(&flag, 0, memory_order_relaxed);
    assert(atomic_compare_exchange_strong(&flag, &expected, 2));
    pthread_join(thread, NULL);
    return 0;
}
