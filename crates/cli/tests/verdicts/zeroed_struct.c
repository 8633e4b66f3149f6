// Two flags in one word, which main has written as a whole before there are other threads (`= {0}`): each thread
// raises its own and looks at the other one. Under tso both can read 0: they are different locations, whatever has
// written them before.
// fencepost check --model sc: pass
// fencepost check --model tso: fail assertion
// fencepost check --model pso: fail assertion
// fencepost check --model pslo: fail assertion
// fencepost check --model tso [CFLAGS=-DFENCE]: pass
// fencepost check --model tso [CFLAGS=-DMEMSET]: fail assertion
// fencepost check --model tso [CFLAGS=-DMEMSET -DFENCE]: pass
// fencepost test --model tso: fail assertion
// fencepost safe --model tso: fail sc-violation
// fencepost safe --model tso [CFLAGS=-DFENCE]: pass
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#ifdef FENCE
#define BARRIER atomic_thread_fence(memory_order_seq_cst)
#else
#define BARRIER (void)0
#endif
struct state {
    atomic_int mine, yours;
    int seen[2];
};
static void *one(void *argument) {
    struct state *state = argument;
    atomic_store_explicit(&state->mine, 1, memory_order_relaxed);
    BARRIER;
    state->seen[0] = atomic_load_explicit(&state->yours, memory_order_relaxed);
    return NULL;
}
int main(void) {
#ifdef MEMSET
    struct state state;
    memset(&state, 0, sizeof state);
#else
    struct state state = {0};
#endif
    pthread_t thread;
    pthread_create(&thread, NULL, one, &state);
    atomic_store_explicit(&state.yours, 1, memory_order_relaxed);
    BARRIER;
    state.seen[1] = atomic_load_explicit(&state.mine, memory_order_relaxed);
    pthread_join(thread, NULL);
    assert(state.seen[0] || state.seen[1]);
    return 0;
}
