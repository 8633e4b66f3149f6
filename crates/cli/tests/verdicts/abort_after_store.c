// A store just before `abort` is seen by others, too: the assertion can fail before the process is aborted.
//
// fencepost check --model sc --keep-going: fail abort assertion
// fencepost check --model tso --keep-going: fail abort assertion
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static int x;

static void *reader(void *arg) {
    (void)arg;
    assert(x == 0);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, reader, NULL);
    x = 1;
    abort();
}
