// Two threads, each with a part of a word, which the end of the program reads as a whole. Neither need see what the
// other has stored. One place for the whole word has no such execution: that must not be called a proof.
// fencepost check --model sc: pass
// fencepost check --model tso: incomplete
// fencepost check --model c11: incomplete
// fencepost test --model c11: fail assertion
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static union {
    uint64_t word;
    uint32_t half[2];
} u;
static uint32_t seen[2];

static void *first(void *unused) {
    __atomic_store_n(&u.half[0], 1, __ATOMIC_RELAXED);
    seen[0] = __atomic_load_n(&u.half[1], __ATOMIC_RELAXED);
    return unused;
}

static void *second(void *unused) {
    __atomic_store_n(&u.half[1], 1, __ATOMIC_RELAXED);
    seen[1] = __atomic_load_n(&u.half[0], __ATOMIC_RELAXED);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert(__atomic_load_n(&u.word, __ATOMIC_RELAXED) == (uint64_t)1 << 32 | 1);
    assert(seen[0] || seen[1]);
    return 0;
}
