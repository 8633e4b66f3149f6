// A thread ends with a robust mutex in its hands: who takes it next is told so, and nobody waits forever.
// fencepost check: pass
// fencepost check --model tso: pass
// fencepost check [CFLAGS=-DNEVER]: fail assertion
// fencepost test: pass
// fencepost test [CFLAGS=-DNEVER]: fail assertion
#include <assert.h>
#include <errno.h>
#include <pthread.h>

static pthread_mutex_t mutex;

static void *owner(void *arg) {
    (void)arg;
    int r = pthread_mutex_lock(&mutex);
    assert(r == 0);
    return 0;
}

int main(void) {
    pthread_t thread;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    pthread_create(&thread, 0, owner, 0);
    int r = pthread_mutex_lock(&mutex);
#ifdef NEVER
    assert(r == 0);
#endif
    assert(r == 0 || r == EOWNERDEAD);
    if (r == EOWNERDEAD) {
        r = pthread_mutex_consistent(&mutex);
        assert(r == 0);
    }
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    r = pthread_mutex_trylock(&mutex);
    assert(r == 0 || r == EOWNERDEAD);
    return 0;
}
