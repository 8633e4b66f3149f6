// A thread stores to a part of a word and loads the whole word. Such a load cannot be forwarded: it waits until the
// part is in memory. Whoever has read the rest from another thread's store has therefore seen what that thread did
// before (under tso; under pso it may come later), and with -DLATER: no other store comes between the two.
// fencepost check --model sc: pass
// fencepost check --model tso: pass
// fencepost check --model pso: fail assertion
// fencepost test --model tso --executions 5000: pass
// fencepost test --model pso --executions 5000: fail assertion
// fencepost check --model tso [CFLAGS=-DLATER]: pass
// fencepost check --model pso [CFLAGS=-DLATER]: pass
// fencepost check --model pslo [CFLAGS=-DLATER]: pass
// fencepost test --model pso --executions 5000 [CFLAGS=-DLATER]: pass
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

typedef uint32_t __attribute__((may_alias)) part;
static uint64_t word;
static atomic_int before;

static void *writer(void *argument) {
    atomic_store_explicit(&before, 1, memory_order_relaxed);
    word = 0x400000005;
    return argument;
}

int main(void) {
    pthread_t thread;
    word = 0x100000001;
    pthread_create(&thread, 0, writer, 0);
    *(part *)&word = 0;
    uint64_t seen = word;
#ifdef LATER
    pthread_join(thread, 0);
    assert(!(seen == 0x100000000 && word == 0x400000000));
#else
    int was_before = atomic_load_explicit(&before, memory_order_relaxed);
    assert(!(seen == 0x400000000 && !was_before));
    pthread_join(thread, 0);
#endif
    return 0;
}
