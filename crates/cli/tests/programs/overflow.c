// A recursion without an end.
#include <pthread.h>

static int deep(volatile int n) {
    volatile char room[4096];
    room[0] = (char)n;
    return n < 0 ? 0 : deep(n + 1) + room[0];
}

static void *run(void *arg) {
    deep(0);
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    return 0;
}
