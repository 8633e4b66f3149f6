// Goes on forever, and does something new in every round: no loop that waits, but no end either.
#include <pthread.h>
#include <stdatomic.h>

static atomic_long steps;
static atomic_int stop;

static void *other(void *argument) {
    while (!atomic_load(&stop)) atomic_fetch_add(&steps, 1);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    pthread_join(thread, 0);
    return 0;
}
