// A barrier or a semaphore that was destroyed is used; a barrier that was never initialised, too.
// fencepost check [CFLAGS=-DBARRIER]: fail mutex-misuse
// fencepost check --model sc [CFLAGS=-DBARRIER]: fail mutex-misuse
// fencepost test [CFLAGS=-DBARRIER]: fail mutex-misuse
// fencepost check [CFLAGS=-DNEVER]: fail mutex-misuse
// fencepost check: fail mutex-misuse
// fencepost check --model tso: fail mutex-misuse
// fencepost test --model tso: fail mutex-misuse
// fencepost check [CFLAGS=-DAGAIN]: pass
#include <pthread.h>
#include <semaphore.h>

static sem_t semaphore;
static pthread_barrier_t barrier;

static void *uses(void *unused) {
#if defined(BARRIER) || defined(NEVER)
    pthread_barrier_wait(&barrier);
#else
    sem_post(&semaphore);
#endif
    return unused;
}

int main(void) {
    pthread_t thread;
#ifdef BARRIER
    pthread_barrier_init(&barrier, NULL, 1);
    pthread_barrier_destroy(&barrier);
#elif !defined(NEVER)
    sem_init(&semaphore, 0, 0);
    sem_destroy(&semaphore);
#ifdef AGAIN
    sem_init(&semaphore, 0, 0);
#endif
#endif
    pthread_create(&thread, NULL, uses, NULL);
    pthread_join(thread, NULL);
    return 0;
}
