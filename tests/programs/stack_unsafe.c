/* A stack without a lock (StackUnsafe of the MCR papers): one thread pushes and pops N times, one pops N times what it
   finds; both look whether the stack is empty before they pop. -DFIXED: with a lock */
#include <assert.h>
#include <pthread.h>
#ifndef N
#define N 1
#endif
static int items[2 * N + 1];
static volatile int top;
#ifdef FIXED
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
#define LOCK() pthread_mutex_lock(&m)
#define UNLOCK() pthread_mutex_unlock(&m)
#else
#define LOCK() ((void)0)
#define UNLOCK() ((void)0)
#endif
static void push(int v) { LOCK(); items[top] = v; top = top + 1; UNLOCK(); }
static void pop(void) {
    LOCK();
    if (top > 0) {
        int t = top - 1;
        assert(t >= 0);
        top = t;
        (void)*(volatile int *)&items[t];
    }
    UNLOCK();
}
static void *a(void *p) { for (int i = 0; i < N; i++) { push(i); pop(); } return p; }
static void *b(void *p) { for (int i = 0; i < N; i++) pop(); return p; }
int main(void) {
    pthread_t x, y;
    pthread_create(&x, 0, a, 0);
    pthread_create(&y, 0, b, 0);
    pthread_join(x, 0);
    pthread_join(y, 0);
    return 0;
}
