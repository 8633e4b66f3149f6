/* Lamport's fast mutual exclusion: two threads, one round each. */
#include <assert.h>
#include <pthread.h>

static volatile int x, y, b[3], owner;

static void *run(void *argument) {
    int me = (int)(long)argument;
start:
    b[me] = 1;
    x = me;
    if (y != 0) {
        b[me] = 0;
        while (y != 0)
            ;
        goto start;
    }
    y = me;
    if (x != me) {
        b[me] = 0;
        for (int other = 1; other <= 2; other++)
            while (b[other])
                ;
        if (y != me) {
            while (y != 0)
                ;
            goto start;
        }
    }
    owner = me;
    assert(owner == me);
    y = 0;
    b[me] = 0;
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, run, (void *)(i + 1));
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
