// A lock that is initialised before the thread is created and destroyed after it has ended is used in between, by all
// methods.
// fencepost check --model sc --method graph: pass, 1 executions
// fencepost check --model sc --method rf: pass, 1 executions
// fencepost check --model tso --method causal: pass, 1 executions
#include <pthread.h>

static pthread_mutex_t lock;
static int count;

static void *counts(void *unused) {
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_init(&lock, NULL);
    pthread_create(&thread, NULL, counts, NULL);
    pthread_join(thread, NULL);
    pthread_mutex_destroy(&lock);
    return 0;
}
