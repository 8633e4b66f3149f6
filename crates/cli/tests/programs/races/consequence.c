/* The race is one thing, what comes of it another: the execution goes on. */
#include <assert.h>
#include <pthread.h>

static struct { int padding; int value; } shared[3];

static void *add(void *unused) {
    shared[1].value++;
    return unused;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, add, 0);
    pthread_create(&other, 0, add, 0);
    pthread_join(one, 0);
    int seen = shared[1].value;
    pthread_join(other, 0);
    assert(seen == 2);
    return 0;
}
