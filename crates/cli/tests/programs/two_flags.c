/* Two flags that are always changed together, and back: they are equal in the end. Where an older value can be read, a
 * flag may be read as it was in between. */
#include <assert.h>
#include <fencepost.h>
#include <pthread.h>

static volatile long first, second;

static void *writer(void *argument) {
    for (int i = 0; i < 3; i++) {
        long a = first, b = second;
        fencepost_dcas(&first, &second, a, b, !a, !b);
    }
    return argument;
}

int main(void) {
    pthread_t writers[2];
    pthread_create(&writers[0], 0, writer, 0);
    pthread_create(&writers[1], 0, writer, 0);
    pthread_join(writers[0], 0);
    pthread_join(writers[1], 0);
    assert(first == second);
    return 0;
}
