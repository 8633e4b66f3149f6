/* Allocation of blocks (Allocation of the MCR papers): a free block is looked for and marked in two critical sections,
   so that two threads get the same one. -DN: threads; -DFIXED: one critical section */
#include <assert.h>
#include <pthread.h>
#ifndef N
#define N 2
#endif
static int used[N];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *allocate(void *p) {
    int found = -1;
    pthread_mutex_lock(&m);
    for (int i = 0; i < N && found < 0; i++)
        if (!used[i]) found = i;
#ifndef FIXED
    pthread_mutex_unlock(&m);
    pthread_mutex_lock(&m);
#endif
    assert(found >= 0 && !used[found]);
    used[found] = 1;
    pthread_mutex_unlock(&m);
    return p;
}
int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++) pthread_create(&t[i], 0, allocate, 0);
    for (int i = 0; i < N; i++) pthread_join(t[i], 0);
    return 0;
}
