/* A value is published by a double compare-and-swap, in one of two places. One store-store fence behind the store of
 * the value serves both. */
#include <assert.h>
#include <fencepost.h>
#include <pthread.h>

static volatile int data, turn;
static volatile long first[2], second[2];

static void *publish(void *argument) {
    (void)argument;
    int other = turn;
    data = 1;
    if (other)
        fencepost_dcas(&first[0], &first[1], 0, 0, 1, 1);
    else
        fencepost_dcas(&second[0], &second[1], 0, 0, 1, 1);
    return 0;
}

static void *look(void *argument) {
    (void)argument;
    turn = 1;
    if (first[0] || second[0])
        assert(data);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, publish, 0);
    pthread_create(&threads[1], 0, look, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
