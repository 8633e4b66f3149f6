// The second thread may give its reference back after the first, which does not look whether it was the last, has freed
// the block: whichever comes first, some execution touches memory that is gone.
// fencepost check --model tso: fail use-after-free
// fencepost check: fail
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int *count;

static void *other(void *arg) {
    (void)arg;
    atomic_fetch_sub(count, 1);
    return 0;
}

int main(void) {
    pthread_t thread;
    count = malloc(sizeof *count);
    atomic_init(count, 2);
    pthread_create(&thread, 0, other, 0);
    atomic_fetch_sub(count, 1);
    free(count);
    pthread_join(thread, 0);
    return 0;
}
