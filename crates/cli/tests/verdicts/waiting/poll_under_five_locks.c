// One thread polls under five locks, of which the other takes the first.
// fencepost check: pass
// fencepost check --model tso: pass
#include <pthread.h>

static pthread_mutex_t locks[5] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                   PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int ready;

static void *polls(void *unused) {
    for (int now = 0; !now;) {
        for (int i = 0; i < 5; i++)
            pthread_mutex_lock(&locks[i]);
        now = ready;
        for (int i = 5; i-- > 0;)
            pthread_mutex_unlock(&locks[i]);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, polls, NULL);
    pthread_mutex_lock(&locks[0]);
    ready = 1;
    pthread_mutex_unlock(&locks[0]);
    pthread_join(thread, NULL);
    return 0;
}
