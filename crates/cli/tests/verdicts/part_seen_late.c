// The store to a byte may come after what is added to it by a thread that has seen the lock taken. To take over the
// rest of the word, it would have to read what depends on it: that is not explored, and must not be called a proof.
// fencepost check --model sc: pass
// fencepost check --model c11: incomplete
// fencepost test --model c11: fail assertion
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static union {
    uint64_t word;
    uint8_t bytes[8];
} u;
static int taken, before;

static void *stores(void *unused) {
    __atomic_store_n(&u.bytes[2], 3, __ATOMIC_RELAXED);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *adds(void *unused) {
    if (pthread_mutex_trylock(&mutex) == 0) {
        pthread_mutex_unlock(&mutex);
    } else {
        taken = 1;
    }
    before = __atomic_fetch_add(&u.bytes[2], 2, __ATOMIC_ACQ_REL);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, adds, NULL);
    pthread_create(&threads[1], NULL, stores, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert(u.word != 0);
    assert(!taken || before == 3);
    return 0;
}
