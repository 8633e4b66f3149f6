/* An error behind a certain order of several steps, in the manner of RVExample (whose text the paper does not give): a
   flag is set and taken back by turns, and only who sees it set twice, with the counter between, goes wrong.
   -DFIXED: the counter is read with the flag, under the lock */
#include <assert.h>
#include <pthread.h>
#ifndef N
#define N 2
#endif
static volatile int flag, count;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *setter(void *p) {
    for (int i = 0; i < N; i++) {
        pthread_mutex_lock(&m);
        flag = 1;
        count = count + 1;
        pthread_mutex_unlock(&m);
        pthread_mutex_lock(&m);
        flag = 0;
        pthread_mutex_unlock(&m);
    }
    return p;
}
static void *reader(void *p) {
    pthread_mutex_lock(&m);
    int first = flag, before = count;
#ifndef FIXED
    pthread_mutex_unlock(&m);
    pthread_mutex_lock(&m);
#endif
    int second = flag, after = count;
    pthread_mutex_unlock(&m);
    if (first && second) assert(before == after);
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, setter, 0);
    pthread_create(&b, 0, reader, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
