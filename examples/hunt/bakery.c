/* Lamport's bakery algorithm for two threads. Correct under sequential consistency; under tso both threads can
 * enter, because the stores to `choosing` and `number` can be late. -DFENCES adds store-load fences. Each thread
 * enters its critical section three times (Relaxer 5.2). */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#ifdef FENCES
#define STORE_LOAD() atomic_thread_fence(memory_order_seq_cst)
#else
#define STORE_LOAD() ((void)0)
#endif
#define ROUNDS 3

static volatile int choosing[2], number[2];
static int inside;

__attribute__((no_sanitize_thread, noinline)) static void enter(void) {
    inside++;
    assert(inside == 1);
}

__attribute__((no_sanitize_thread, noinline)) static void leave(void) {
    inside--;
}

static void *run(void *argument) {
    int me = argument != 0, other = 1 - me;
    for (int i = 0; i < ROUNDS; i++) {
        choosing[me] = 1; /* 1 */
        STORE_LOAD();
        int last = number[other]; /* 2 */
        int mine = last + 1;
        number[me] = mine; /* 3 */
        STORE_LOAD();
        choosing[me] = 0; /* 4 */
        STORE_LOAD();
        while (choosing[other]) /* 5 */
            sched_yield();
        for (;;) {
            int theirs = number[other]; /* 6 */
            if (theirs == 0 || mine < theirs || (mine == theirs && me < other))
                break;
            sched_yield();
        }
        enter();
        sched_yield();
        leave();
        number[me] = 0; /* 7 */
    }
    return 0;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, run, 0);
    pthread_create(&threads[1], 0, run, &threads);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
