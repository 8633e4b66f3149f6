/* Szymanski's mutual exclusion for two threads. -DTWICE: on leaving, the other's flag is read twice and may change in
 * between, so that the other waits forever, without any reordering. */
#include <assert.h>
#include <pthread.h>

static volatile int flag[2], owner;

static void *run(void *argument) {
    int me = (int)(long)argument, other = 1 - me;
    flag[me] = 1;
    while (flag[other] >= 3)
        ;
    flag[me] = 3;
    if (flag[other] == 1) {
        flag[me] = 2;
        while (flag[other] != 4)
            ;
    }
    flag[me] = 4;
    if (me == 1)
        while (flag[0] >= 2)
            ;
    owner = me;
    assert(owner == me);
    if (me == 0)
#ifdef TWICE
        while (flag[1] == 2 || flag[1] == 3)
#else
        while ((flag[1] & 6) == 2)
#endif
            ;
    flag[me] = 0;
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
