// A lock, a count of references and a set of bits in inline assembly. Who is first at the lock, and who is last to give
// up its reference and to set its bit: flags of the processor decide. Without the lock the counter is a race under c11,
// and under sc an update of it is lost.
// fencepost check: pass
// fencepost check --model sc: pass
// fencepost check --model pso: pass
// fencepost check [CFLAGS=-DEXCHANGE]: pass
// fencepost check [CFLAGS=-DNO_LOCK]: fail data-race
// fencepost check --model sc [CFLAGS=-DNO_LOCK]: fail assertion
// fencepost test: pass
// fencepost test --model tso: pass
// fencepost test [CFLAGS=-DNO_LOCK]: fail data-race
#include <assert.h>
#include <pthread.h>
static volatile int locked;
static int counter, references = 2, last;
static unsigned long bits[2], pair[2] __attribute__((aligned(16)));
static int exchange(volatile int *p, int v) {
    __asm__ volatile("xchgl %0, %1" : "+r"(v), "+m"(*p)::"memory");
    return v;
}
static int exchange_add(int *p, int v) {
    __asm__ volatile("lock; xaddl %0, %1" : "+r"(v), "+m"(*p)::"memory", "cc");
    return v;
}
static int compare_exchange(volatile int *p, int from, int to) {
    int old;
    __asm__ volatile("lock; cmpxchgl %2, %1" : "=a"(old), "+m"(*p) : "r"(to), "0"(from) : "memory", "cc");
    return old;
}
static int decrement_is_zero(int *p) {
    char zero;
    __asm__ volatile("lock; decl %0; sete %1" : "+m"(*p), "=qm"(zero)::"memory", "cc");
    return zero;
}
static int set_bit(unsigned long *p, long bit) {
    char was;
    __asm__ volatile("lock; btsq %2, %0; setc %1" : "+m"(*p), "=qm"(was) : "r"(bit) : "memory", "cc");
    return was;
}
static int exchange_pair(unsigned long *p, unsigned long low, unsigned long high) {
    char equal;
    unsigned long old_low = 0, old_high = 0;
    __asm__ volatile("lock; cmpxchg16b %0; sete %1"
                     : "+m"(*(__int128 *)p), "=qm"(equal), "+a"(old_low), "+d"(old_high)
                     : "b"(low), "c"(high)
                     : "memory", "cc");
    return equal;
}
static void *run(void *p) {
#ifdef EXCHANGE
    while (exchange(&locked, 1)) {
    }
#elif !defined(NO_LOCK)
    while (compare_exchange(&locked, 0, 1)) {
    }
#endif
    counter++;
    exchange(&locked, 0);
    if (decrement_is_zero(&references)) last++;
    return p;
}
int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, run, 0);
    pthread_create(&t, 0, run, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
    assert(counter == 2 && last == 1);
    assert(exchange_add(&counter, 3) == 2 && counter == 5);
    assert(!set_bit(bits, 70) && set_bit(bits, 70) && bits[0] == 0 && bits[1] == 1 << 6);
    assert(exchange_pair(pair, 7, 8) && !exchange_pair(pair, 9, 9) && pair[0] == 7 && pair[1] == 8);
    assert(compare_exchange(&counter, 1, 2) == 5 && counter == 5);
}
