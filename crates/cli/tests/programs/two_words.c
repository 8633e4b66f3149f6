/* Two words that are always changed together: whoever reads the first and then the second never finds the second behind
 * the first. */
#include <assert.h>
#include <fencepost.h>
#include <pthread.h>

static volatile long first, second;

static void *writer(void *argument) {
    for (int i = 0; i < 2; i++) {
        long a = first, b = second;
        fencepost_dcas(&first, &second, a, b, a + 1, b + 1);
    }
    return argument;
}

int main(void) {
    pthread_t writers[2];
    pthread_create(&writers[0], 0, writer, 0);
    pthread_create(&writers[1], 0, writer, 0);
    long a = first, b = second;
    assert(a <= b);
    pthread_join(writers[0], 0);
    pthread_join(writers[1], 0);
    assert(first == second);
    return 0;
}
