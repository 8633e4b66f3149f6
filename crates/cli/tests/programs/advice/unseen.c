/* Peterson's mutual exclusion of two threads, without fences. Who is inside is kept by functions that are not
 * instrumented: an exploration does not see that memory, and has no execution that fails. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>

static volatile int flag[2], turn;
static int inside;

__attribute__((no_sanitize_thread, noinline)) static void enter(void) {
    inside++;
    assert(inside == 1);
}

__attribute__((no_sanitize_thread, noinline)) static void leave(void) {
    inside--;
}

static void *body(void *argument) {
    int me = argument != 0, other = 1 - me;
    flag[me] = 1;
    turn = other;
    while (flag[other] && turn == other)
        ;
    enter();
    sched_yield();
    leave();
    flag[me] = 0;
    return 0;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, body, 0);
    pthread_create(&threads[1], 0, body, &threads);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
