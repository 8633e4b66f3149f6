// A loop that locks, looks, unlocks and gives way waits.
// fencepost check: pass
// fencepost check --model tso: pass
#include <pthread.h>
#include <sched.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int done;
static void *f(void *u) { pthread_mutex_lock(&m); done = 1; pthread_mutex_unlock(&m); return u; }
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, f, 0);
    for (int stop = 0; !stop;) {
        pthread_mutex_lock(&m);
        stop = done;
        pthread_mutex_unlock(&m);
        sched_yield();
    }
    pthread_join(a, 0);
    return 0;
}
