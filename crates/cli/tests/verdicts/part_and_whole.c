// A thread stores to a part of a word and reads the whole; the main thread stores to the whole. If the reader has found
// zeroes around its part, the main thread's store came first, and the part is left in the end. Exploration by graphs
// knows which store a part is put into; by less, it does not, and says so.
//
// fencepost check --model sc: pass
// fencepost check --model sc --method rf: pass
// fencepost check --model tso --method graph: pass
// fencepost check --model tso --method rf: incomplete
// fencepost check --model tso --method causal: incomplete
// fencepost test --model tso --executions 500: pass
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

typedef uint16_t part __attribute__((may_alias));

static uint64_t word;
static uint64_t seen;

static void *thread(void *argument) {
    __atomic_store_n((part *)&word + 1, 2, __ATOMIC_RELAXED);
    seen = __atomic_load_n(&word, __ATOMIC_RELAXED);
    return argument;
}

int main(void) {
    word = 0x0101010101010101;
    pthread_t other;
    pthread_create(&other, NULL, thread, NULL);
    __atomic_store_n(&word, 0, __ATOMIC_RELAXED);
    pthread_join(other, NULL);
    if (seen == 0x20000) {
        assert(word == 0x20000);
    }
}
