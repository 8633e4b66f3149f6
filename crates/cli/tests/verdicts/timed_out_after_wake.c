// Who waits at a condition variable until some time, is woken and waits again may then come too late. It remembers that
// while it takes the mutex again, and leaves its loop: that is no round of a loop. A wake-up that it took is lost to
// the other one, who waits forever: a deadlock, and nobody goes around.
// fencepost test --model sc: fail deadlock
// fencepost check --keep-going: fail deadlock
// fencepost check --keep-going --model sc: fail deadlock
// fencepost check --keep-going --model sc --method rf: fail deadlock
// fencepost check --keep-going --model tso --method causal: fail deadlock
// fencepost check [CFLAGS=-DALL]: pass
// fencepost check --model tso [CFLAGS=-DALL]: pass
// fencepost check --model sc --method rf [CFLAGS=-DALL]: pass
// fencepost check --model pso --method causal [CFLAGS=-DALL]: pass
#include <pthread.h>
#include <time.h>

#ifdef ALL
#define wake pthread_cond_broadcast
#else
#define wake pthread_cond_signal
#endif

static int never, ready;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *waits_until_some_time(void *unused) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_mutex_lock(&mutex);
    while (!never && pthread_cond_timedwait(&changed, &mutex, &until) == 0) {}
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *waits(void *unused) {
    pthread_mutex_lock(&mutex);
    while (!ready) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, waits_until_some_time, 0);
    pthread_create(&other, 0, waits, 0);
    pthread_mutex_lock(&mutex);
    ready = 1;
    wake(&changed);
    pthread_mutex_unlock(&mutex);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
