/* java.lang.StringBuffer.append (StringBuf of the MCR papers): the length of the other buffer is read in one critical
   section, its characters are copied in the next; meanwhile it was cut. -DFIXED: one critical section */
#include <assert.h>
#include <pthread.h>
static int length = 2;
static char text[4] = "ab";
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *append(void *p) {
    char copy[4] = "";
    pthread_mutex_lock(&m);
    int n = length;
#ifndef FIXED
    pthread_mutex_unlock(&m);
    pthread_mutex_lock(&m);
#endif
    assert(n <= length);
    for (int i = 0; i < n; i++) copy[i] = text[i];
    pthread_mutex_unlock(&m);
    (void)*(volatile char *)copy;
    return p;
}
static void *cut(void *p) {
    pthread_mutex_lock(&m);
    length = 0;
    text[0] = 0;
    pthread_mutex_unlock(&m);
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, append, 0);
    pthread_create(&b, 0, cut, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
