/* Two threads hand a word to each other and back, each with a flag of its own. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define load(place) atomic_load_explicit(place, memory_order_relaxed)
#define store(place, value) atomic_store_explicit(place, value, memory_order_relaxed)

static atomic_int there, back, word, answer;

static void *server(void *argument) {
    while (load(&there) == 0) {
    }
    int asked = load(&word);
    store(&answer, asked + 1);
    store(&back, 1);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, server, 0);
    store(&word, 41);
    store(&there, 1);
    while (load(&back) == 0) {
    }
    int told = load(&answer);
    assert(told == 42);
    pthread_join(thread, 0);
    return 0;
}
