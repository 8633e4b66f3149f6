// Two flags in one word, which a third thread reads as a whole, while others raise one and look at the other. Under
// tso these are different locations, so that both can read 0. An exploration has one location for a word that is also
// accessed as a whole, and a thread's accesses to it in order: it must not call that a proof.
// fencepost check --model sc: pass
// fencepost check --model tso: incomplete
// fencepost check --model pso: incomplete
// fencepost check --model tso [CFLAGS=-DFENCE]: pass
// fencepost test --model tso: fail assertion
// fencepost safe --model tso: incomplete
// fencepost safe --model tso [CFLAGS=-DFENCE]: pass
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#ifdef FENCE
#define BARRIER atomic_thread_fence(memory_order_seq_cst)
#else
#define BARRIER (void)0
#endif
static union {
    uint64_t word;
    uint32_t half[2];
} flags;
static uint64_t whole;
static int seen[2];
static void *raise(void *argument) {
    int me = argument != NULL;
    __atomic_store_n(&flags.half[me], 1, __ATOMIC_RELAXED);
    BARRIER;
    seen[me] = __atomic_load_n(&flags.half[!me], __ATOMIC_RELAXED);
    return NULL;
}
static void *look(void *argument) {
    whole = __atomic_load_n(&flags.word, __ATOMIC_RELAXED);
    return argument;
}
int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, raise, NULL);
    pthread_create(&threads[1], NULL, raise, &flags);
    pthread_create(&threads[2], NULL, look, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert(seen[0] || seen[1]);
    return 0;
}
