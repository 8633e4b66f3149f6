// A consumer that sleeps when there is no work, and a producer that takes the lock only if somebody sleeps: figure 1 of
// Burckhardt and Musuvathi, Memory Model Safety of Programs. Under sc the producer sees that the consumer idles, or the
// consumer sees that there is work. Under tso both loads can pass the stores before them: the wake-up is lost, and the
// consumer sleeps forever.
//
//     fencepost safe examples/safe/idle.c             unsafe
//     fencepost cc -DFIXED examples/safe/idle.c -o idle && fencepost safe ./idle    safe

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#ifdef FIXED
#define FENCE() atomic_thread_fence(memory_order_seq_cst)
#else
#define FENCE()
#endif

static atomic_bool is_idling, has_work;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

static void *block_on_idle(void *unused)
{
    pthread_mutex_lock(&mutex);
    atomic_store_explicit(&is_idling, true, memory_order_relaxed);
    FENCE();
    if (!atomic_load_explicit(&has_work, memory_order_relaxed))
        pthread_cond_wait(&wake, &mutex);
    atomic_store_explicit(&is_idling, false, memory_order_relaxed);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void notify_potential_work(void)
{
    atomic_store_explicit(&has_work, true, memory_order_relaxed);
    FENCE();
    if (atomic_load_explicit(&is_idling, memory_order_relaxed)) {
        pthread_mutex_lock(&mutex);
        pthread_cond_signal(&wake);
        pthread_mutex_unlock(&mutex);
    }
}

int main(void)
{
    pthread_t consumer;
    pthread_create(&consumer, NULL, block_on_idle, NULL);
    notify_potential_work();
    pthread_join(consumer, NULL);
    return 0;
}
