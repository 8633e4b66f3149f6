/* glibc's crypt_util, rebuilt from Orion's figure 10: tables that are built on first use, and a flag that says so.
 * Three threads use them. Under pso the flag can be there before the tables. -DFENCES adds what is missing. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef FENCES
#define FENCE_STORES() atomic_thread_fence(memory_order_release)
#define FENCE_LOADS() atomic_thread_fence(memory_order_acquire)
#else
#define FENCE_STORES() ((void)0)
#define FENCE_LOADS() ((void)0)
#endif

static int table_a[4], table_b[4];
static int *volatile a_ptr, *volatile b_ptr;
static volatile int initialized;

static void init(void) {
    if (initialized) { /* 2 */
        FENCE_LOADS();
        return;
    }
    a_ptr = table_a; /* 3 */
    b_ptr = table_b; /* 4 */
    FENCE_STORES();
    initialized = 1; /* 5 */
}

static void *use_a(void *argument) {
    init();
    if (a_ptr[0] != 0) /* 6 */
        abort();
    return argument;
}

static void *use_b(void *argument) {
    init();
    if (b_ptr[0] != 0) /* 7 */
        abort();
    return argument;
}

int main(void) {
    void *(*bodies[3])(void *) = {use_a, use_b, use_a};
    pthread_t threads[3];
    for (int t = 0; t < 3; t++)
        pthread_create(&threads[t], 0, bodies[t], 0);
    for (int t = 0; t < 3; t++)
        pthread_join(threads[t], 0);
    return 0;
}
