// A thread is cancelled by one that has seen its store, before it comes to print, where it may be cancelled.
// fencepost test: fail assertion
// fencepost test --model sc: fail assertion
// fencepost check: fail assertion
// fencepost check --model sc: fail assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int begun;

static void *prints(void *unused) {
    atomic_store(&begun, 1);
    if (write(1, "\n", 1) != 1) return 0;
    return unused;
}

int main(void) {
    pthread_t printer;
    pthread_create(&printer, 0, prints, 0);
    int seen = atomic_load(&begun);
    pthread_cancel(printer);
    void *result;
    pthread_join(printer, &result);
    assert(!seen || result != PTHREAD_CANCELED);
}
