// A race on a member of a variable of main's, under a flag that is on the stack as well.
#include <pthread.h>
#include <stdatomic.h>

struct job {
    atomic_int ready;
    long values[3];
    pthread_mutex_t mutex;
};

static void *writer(void *argument) {
    struct job *job = argument;
    job->values[2] = 7;
    atomic_store_explicit(&job->ready, 1, memory_order_relaxed);
    return 0;
}

static void *reader(void *argument) {
    struct job *job = argument;
    pthread_mutex_lock(&job->mutex);
    long value = 0;
    if (atomic_load_explicit(&job->ready, memory_order_relaxed))
        value = job->values[2];
    pthread_mutex_unlock(&job->mutex);
    return (void *)value;
}

static void start(struct job *job) {
    int before[4] = {0};
    pthread_t threads[2];
    pthread_create(&threads[0], 0, writer, job);
    pthread_create(&threads[1], 0, reader, job);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    (void)before;
}

int main(void) {
    struct job job = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    start(&job);
}
