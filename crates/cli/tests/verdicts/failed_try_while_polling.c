// The other thread may fail to take the lock because main holds it to look: then main must look once more, and nobody
// fails to end. fencepost check: fail assertion
// fencepost check --model tso: fail assertion
#include <assert.h>
#include <pthread.h>
#include <sched.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int done, failed;
static void *f(void *u)
{
    if (pthread_mutex_trylock(&m)) {
        failed = 1;
        pthread_mutex_lock(&m);
    }
    done = 1;
    pthread_mutex_unlock(&m);
    return u;
}
int main(void)
{
    pthread_t a;
    pthread_create(&a, 0, f, 0);
    for (int stop = 0; !stop;) {
        pthread_mutex_lock(&m);
        stop = done;
        pthread_mutex_unlock(&m);
        sched_yield();
    }
    pthread_join(a, 0);
    assert(!failed);
    return 0;
}
