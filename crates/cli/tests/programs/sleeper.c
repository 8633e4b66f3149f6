/* An hour of sleep in one thread: simulated, so that it costs nothing, and the race is still there. */
#include <pthread.h>
#include <unistd.h>
static int shared;
static void *other(void *p) { sleep(3600); shared = 1; return p; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    int seen = shared;
    pthread_join(t, 0);
    return seen;
}
