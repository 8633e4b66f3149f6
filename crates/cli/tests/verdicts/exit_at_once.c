// A thread stores to a plain variable and ends the process with `_exit`, which runs no handlers. Another thread may
// read the store before the process ends, and then fail, or end it itself before that with another status.
//
// fencepost check --model sc --keep-going: fail exit-status assertion, 4 executions
// fencepost check --model tso --keep-going: fail exit-status assertion
// fencepost check --model pso --keep-going: fail exit-status assertion
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static int x;

static void *reader(void *arg) {
    (void)arg;
    assert(x == 0);
    _exit(1);
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, reader, NULL);
    x = 1;
    _exit(2);
}
