// Thread 1 writes two bytes and reads one in between. If main takes the first, thread 1 waits forever; and whoever
// waits for a byte that comes does not go around a loop forever.
// fencepost test: fail deadlock
// fencepost check: fail deadlock
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int ends[2];

static void give(void) {
    char c = 3;
    if (write(ends[1], &c, 1) != 1) abort();
}

static void take(void) {
    char c;
    if (read(ends[0], &c, 1) != 1) abort();
}

static void *run(void *arg) {
    give();
    take();
    give();
    return arg;
}

int main(void) {
    pthread_t thread;
    if (pipe(ends)) abort();
    pthread_create(&thread, NULL, run, NULL);
    take();
    pthread_join(thread, NULL);
    return 0;
}
