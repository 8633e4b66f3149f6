// Store buffering with fences in inline assembly: three executions with both, the fourth without one of them.
// fencepost check: pass, 3 executions
// fencepost check --model tso: pass, 3 executions
// fencepost check --model pso [CFLAGS=-DLOCKED]: pass, 3 executions
// fencepost check [CFLAGS=-DLOCKED]: pass, 3 executions
// fencepost check [CFLAGS=-DWEAK]: fail assertion
// fencepost check --model tso [CFLAGS=-DWEAK]: fail assertion
// fencepost test --model tso: pass
// fencepost test: pass
// fencepost test --model tso [CFLAGS=-DWEAK]: fail assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef LOCKED
#define FENCE() __asm__ volatile("lock; addl $0, 0(%%rsp)" ::: "memory", "cc")
#else
#define FENCE() __asm__ volatile("mfence" ::: "memory")
#endif
static atomic_int x, y;
static int a, b;
static void *one(void *p) {
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    FENCE();
    a = atomic_load_explicit(&y, memory_order_relaxed);
    return p;
}
static void *two(void *p) {
    atomic_store_explicit(&y, 1, memory_order_relaxed);
#ifndef WEAK
    FENCE();
#endif
    b = atomic_load_explicit(&x, memory_order_relaxed);
    return p;
}
int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, one, 0);
    pthread_create(&t, 0, two, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
    assert(a || b);
}
