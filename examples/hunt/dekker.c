/* Dekker's algorithm for mutual exclusion, with the statement numbers of Relaxer's figure 11.
 *
 * Correct under sequential consistency. Under tso a store to a flag can be late, so that both threads enter.
 * -DFENCES adds the store-load fences that prevent it. Each thread enters its critical section three times. */
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

static volatile int flag0, flag1, turn;

/* Who is in a critical section: no part of the algorithm, and not to be seen by what is looked for. */
static int inside;

__attribute__((no_sanitize_thread, noinline)) static void enter(void) {
    inside++;
    assert(inside == 1);
}

__attribute__((no_sanitize_thread, noinline)) static void leave(void) {
    inside--;
}

static void *thread0(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        flag0 = 1; /* 1 */
        STORE_LOAD();
        while (flag1) { /* 2 */
            if (turn) { /* 3 */
                flag0 = 0; /* 4 */
                while (turn) /* 5 */
                    ;
                flag0 = 1; /* 7 */
                STORE_LOAD();
            }
        }
        enter();
        sched_yield();
        leave();
        turn = 1; /* 9 */
        flag0 = 0; /* 10 */
    }
    return argument;
}

static void *thread1(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        flag1 = 1; /* 11 */
        STORE_LOAD();
        while (flag0) { /* 12 */
            if (!turn) { /* 13 */
                flag1 = 0; /* 14 */
                while (!turn) /* 15 */
                    ;
                flag1 = 1; /* 17 */
                STORE_LOAD();
            }
        }
        enter();
        sched_yield();
        leave();
        turn = 0; /* 19 */
        flag1 = 0; /* 20 */
    }
    return argument;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, thread0, 0);
    pthread_create(&threads[1], 0, thread1, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
