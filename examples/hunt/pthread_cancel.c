/* glibc's pthread_cancel_init, rebuilt from Orion's figure 8, with its line numbers as statement numbers: four
 * threads each call a function that is looked up on first use, and believe that all four are there when the last of
 * them is. Under pso the last can be there first; under tso too, the accesses of the four threads form cycles.
 * -DFENCES adds what is missing. */
#include <pthread.h>
#include <stdatomic.h>

#ifdef FENCES
#define FENCE_STORES() atomic_thread_fence(memory_order_release)
#define FENCE_LOADS() atomic_thread_fence(memory_order_acquire)
#else
#define FENCE_STORES() ((void)0)
#define FENCE_LOADS() ((void)0)
#endif

typedef int (*function)(void);

static int resume(void) { return 1; }
static int personality(void) { return 2; }
static int get_cfa(void) { return 3; }
static int handle(void) { return 4; }

static volatile function f1, f2, f3, f4;

static void init(void) {
    if (f4) { /* 2 */
        FENCE_LOADS();
        return;
    }
    f1 = resume; /* 4 */
    f2 = personality; /* 5 */
    f3 = get_cfa; /* 6 */
    FENCE_STORES();
    f4 = handle; /* 7 */
}

static void *t1(void *argument) {
    if (f1 == 0) /* 10 */
        init();
    f1(); /* 12 */
    return argument;
}

static void *t2(void *argument) {
    if (f2 == 0) /* 15 */
        init();
    f2(); /* 17 */
    return argument;
}

static void *t3(void *argument) {
    if (f3 == 0) /* 20 */
        init();
    f3(); /* 22 */
    return argument;
}

static void *t4(void *argument) {
    if (f4 == 0) /* 25 */
        init();
    f4(); /* 27 */
    return argument;
}

int main(void) {
    void *(*bodies[4])(void *) = {t1, t2, t3, t4};
    pthread_t threads[4];
    for (int t = 0; t < 4; t++)
        pthread_create(&threads[t], 0, bodies[t], 0);
    for (int t = 0; t < 4; t++)
        pthread_join(threads[t], 0);
    return 0;
}
