/* Store buffering whose halves are far apart: each thread works on memory of its own for long, one before
   and one behind. */
#include <pthread.h>
#include <stdio.h>

#ifndef LONG
#define LONG 200
#endif

static volatile int x, y, own[2];
static int r1, r2;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void work(int who) {
    for (int i = 0; i < LONG; i++)
        own[who] = i;
}

static void *first(void *argument) {
    x = 1;
    r1 = y;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    work(0);
    return argument;
}

static void *second(void *argument) {
    work(1);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    y = 1;
    r2 = x;
    return argument;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    printf("%d%d\n", r1, r2);
    return 0;
}
