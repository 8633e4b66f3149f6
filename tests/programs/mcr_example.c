/* Figure 6 of the paper on maximal causality reduction for TSO and PSO, as the constraints of its figure 7 give it.
   -DN: rounds; -DSTOP: the error ends thread 2; -DERROR: the error is an assertion (with one round: under PSO only) */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifndef N
#define N 1
#endif
#define ST(v, x) atomic_store_explicit(&v, x, memory_order_relaxed)
#define LD(v) atomic_load_explicit(&v, memory_order_relaxed)
atomic_int x, y, z;
static int px, py;
static void *t1(void *p) {
    for (int i = 0; i < N; i++) { ST(z, 0); ST(x, 0); ST(y, 0); ST(x, 2); ST(y, 3); ST(z, 1); }
    return p;
}
static void *t2(void *p) {
    for (int i = 0; i < N; i++)
        if (LD(z) == 1) {
            int a = LD(x), b = LD(y);
#ifdef ERROR
            assert(a + 1 == b);
#endif
            if (a + 1 != b) {
                px = LD(x);
                py = LD(y);
#ifdef STOP
                return p;
#endif
            }
        }
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, t1, 0);
    pthread_create(&b, 0, t2, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
