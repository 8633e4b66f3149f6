// The store to a byte may be delayed past that of the flag, and then come after the store to the whole word that was
// made by who has seen the flag. To take over the rest of the word it would have to read what depends on it: that is
// not explored, and must not be called a proof.
// fencepost check --model sc: pass
// fencepost check --model tso: pass
// fencepost check --model pso: incomplete
// fencepost check --model pslo: incomplete
// fencepost safe --model tso: pass
// fencepost safe --model pso: incomplete
// fencepost test --model pso: fail assertion
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static uint32_t flag;
static union {
    uint64_t word;
    uint8_t bytes[8];
} u;

static void *other(void *unused) {
    uintptr_t seen = __atomic_load_n(&flag, __ATOMIC_RELAXED);
    __atomic_store_n(&u.word, 3, __ATOMIC_RELAXED);
    return (void *)seen;
}

int main(void) {
    pthread_t thread;
    void *seen;
    pthread_create(&thread, NULL, other, NULL);
    __atomic_store_n(&u.bytes[5], 1, __ATOMIC_RELAXED);
    __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
    pthread_join(thread, &seen);
    assert(!seen || u.bytes[5] == 0);
    return 0;
}
