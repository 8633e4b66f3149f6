/* A block that is freed while others still use it. */
#include <pthread.h>
#include <stdlib.h>

static long *block;

static void drop(long *p) { free(p); }

static void *user(void *unused) {
    block[1] = 7;
    return unused;
}

static long *make(void) { return malloc(4 * sizeof(long)); }

int main(void) {
    pthread_t one;
    block = make();
    pthread_create(&one, 0, user, 0);
    drop(block);
#ifdef TWICE
    drop(block);
#endif
    pthread_join(one, 0);
    return 0;
}
