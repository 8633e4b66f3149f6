// Two threads that each take one lock, try the other's and give theirs back. Rounds that were for nothing are left
// out: there are two executions, who comes first. The thread writes to a variable on main's stack when it is done; what
// main's stack holds must not depend on whether that has happened yet in the run at hand, or else a round of main's
// loop is not known for what it is where it happens meanwhile.
// fencepost check --model sc --method graph: pass, exactly 2 executions
// fencepost check --model sc --method rf: pass, exactly 2 executions
// fencepost check --model sc --method causal: pass, exactly 2 executions
// fencepost check --model tso --method rf: pass, exactly 2 executions
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int *done;
static int guarded, also;

static void take_both(pthread_mutex_t *own, pthread_mutex_t *other) {
    for (;;) {
        pthread_mutex_lock(own);
        if (pthread_mutex_trylock(other) == 0) return;
        pthread_mutex_unlock(own);
        sched_yield();
    }
}

static void *thread(void *argument) {
    (void)argument;
    take_both(&first, &second);
    guarded = also + 1;
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    __atomic_exchange_n(done, 4, __ATOMIC_RELAXED);
    return NULL;
}

int main(void) {
    int here = 0;
    done = &here;
    pthread_t other;
    pthread_create(&other, NULL, thread, NULL);
    take_both(&second, &first);
    also = guarded + 1;
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    pthread_join(other, NULL);
    assert(__atomic_load_n(&here, __ATOMIC_RELAXED) == 4);
    return 0;
}
