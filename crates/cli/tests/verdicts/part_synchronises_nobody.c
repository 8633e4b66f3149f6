// The second thread stores to one half without order. Who reads that half has nothing from the first thread, which
// released the other half, even where the whole word has both.
// fencepost check --model c11: fail data-race
#include <pthread.h>
#include <stdint.h>

static union {
    uint64_t word;
    uint32_t half[2];
} u;
int data, copy;

static void *first(void *unused) {
    data = 1;
    __atomic_store_n(&u.half[0], 1, __ATOMIC_RELEASE);
    return unused;
}

static void *second(void *unused) {
    if (__atomic_load_n(&u.word, __ATOMIC_RELAXED) == 1) {
        __atomic_store_n(&u.half[1], 1, __ATOMIC_RELAXED);
    }
    return unused;
}

static void *third(void *unused) {
    if (__atomic_load_n(&u.half[1], __ATOMIC_ACQUIRE)) {
        copy = data;
    }
    return unused;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_create(&threads[2], NULL, third, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
