// A robust mutex that was given back without having been made consistent cannot be taken again.
// fencepost check: pass
#include <assert.h>
#include <errno.h>
#include <pthread.h>

static pthread_mutex_t mutex;

static void *owner(void *arg) {
    pthread_mutex_lock(&mutex);
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    pthread_create(&thread, 0, owner, 0);
    pthread_join(thread, 0);
    assert(pthread_mutex_lock(&mutex) == EOWNERDEAD);
    pthread_mutex_unlock(&mutex);
    assert(pthread_mutex_lock(&mutex) == ENOTRECOVERABLE);
    assert(pthread_mutex_consistent(&mutex) == EINVAL);
    return 0;
}
