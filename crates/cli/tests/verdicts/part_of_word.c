// A byte of a word is stored while another thread stores the word. The byte's store can still be in its buffer when the
// next load of its thread is performed: then that load reads 0, and the byte is written last. Under sc the byte is
// written before y is read, so that it cannot be last if y was 0.
// fencepost check --model sc: pass
// fencepost check --model tso: fail assertion
// fencepost check --model pso: fail assertion
// fencepost check --model pslo: fail assertion
// fencepost check --model tso [CFLAGS=-DFENCE]: pass
// fencepost test --model tso: fail assertion
// fencepost safe --model tso: fail sc-violation
// fencepost safe --model pslo: fail sc-violation
// fencepost safe --model tso [CFLAGS=-DFENCE]: pass
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
static union { uint16_t word; uint8_t byte[2]; } x;
static int y, seen;
static void *one(void *unused) {
    __atomic_store_n(&x.byte[0], 1, __ATOMIC_RELAXED);
#ifdef FENCE
    atomic_thread_fence(memory_order_seq_cst);
#endif
    seen = __atomic_load_n(&y, __ATOMIC_RELAXED);
    return unused;
}
static void *two(void *unused) {
    __atomic_store_n(&y, 1, __ATOMIC_RELAXED);
    atomic_thread_fence(memory_order_seq_cst);
    __atomic_store_n(&x.word, 0x0202, __ATOMIC_RELAXED);
    return unused;
}
int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, one, 0);
    pthread_create(&threads[1], 0, two, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    assert(seen == 1 || x.word == 0x0202);
    return 0;
}
