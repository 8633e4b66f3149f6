/* N threads store to one location, one reads it once: N + 1 values, more than N! graphs */
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#ifndef N
#define N 4
#endif
atomic_int x;
static void *wr(void *a) { atomic_store_explicit(&x, 1 + (int)(long)a, memory_order_relaxed); return 0; }
static void *rd(void *a) { assert(atomic_load_explicit(&x, memory_order_relaxed) <= N); return 0; }
int main(void) {
    pthread_t w[N], r;
    for (long i = 0; i < N; i++) pthread_create(&w[i], 0, wr, (void *)i);
    pthread_create(&r, 0, rd, 0);
    for (int i = 0; i < N; i++) pthread_join(w[i], 0);
    pthread_join(r, 0);
    return 0;
}
