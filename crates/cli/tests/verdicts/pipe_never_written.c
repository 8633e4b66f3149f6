// A thread reads from a pipe that nobody writes to: every thread waits. That is no loop of the program's.
// fencepost test: fail deadlock
// fencepost test --model tso: fail deadlock
// fencepost check: fail deadlock
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static int ends[2];
static void *reads(void *p) {
    char byte;
    if (read(ends[0], &byte, 1) != 1) abort();
    return p;
}
int main(void) {
    if (pipe(ends)) abort();
    pthread_t t;
    pthread_create(&t, 0, reads, 0);
    pthread_join(t, 0);
}
