// Two threads access a variable atomically, and the main thread reads it plainly when they have ended. If the addition
// has read the initial value, the store comes after it in modification order, whenever it was executed: what is left is
// the store's value, and not that of the addition. The same for a read of the whole that the variable is a part of.
//
// fencepost check [CFLAGS=-DREAD=4]: pass
// fencepost check [CFLAGS=-DREAD=8]: pass
// fencepost check --model tso [CFLAGS=-DREAD=8]: pass
// fencepost test --executions 500 [CFLAGS=-DREAD=4]: pass
// fencepost test --executions 500 [CFLAGS=-DREAD=8]: pass
// fencepost test --executions 500 [CFLAGS=-DREAD=9]: pass
// fencepost test --executions 500 --model pso [CFLAGS=-DREAD=8]: pass
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

static uint32_t words[2] __attribute__((aligned(8)));
static uint32_t old;

static void *store(void *argument) {
    __atomic_store_n(&words[1], 7, __ATOMIC_RELAXED);
    return argument;
}

static void *add(void *argument) {
    old = __atomic_fetch_add(&words[1], 1, __ATOMIC_RELAXED);
    return argument;
}

int main(void) {
    words[1] = 1;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, add, NULL);
    pthread_create(&threads[1], NULL, store, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
#if READ == 4
    uint32_t last = words[1];
#elif READ == 8
    uint32_t last = *(uint64_t __attribute__((may_alias)) *)words >> 32;
#else
    uint32_t copy[2];
    size_t length = sizeof copy;
    __asm__ volatile("" : "+r"(length));
    memcpy(copy, words, length);
    uint32_t last = copy[1];
#endif
    assert(old == 1 ? last == 7 : last == 8);
}
