// A finding of each kind, by -DKIND=n.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { RACE, ASSERTION, ABORT, CRASH, DEADLOCK, LIVELOCK, USED, FREED_TWICE, OVERFLOW, MISUSE, STATUS, REORDERED };

static atomic_int x, y;
static int plain, seen;
static char *block;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;

static void both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *run(void *argument) {
    int late = !atomic_load(&x);
    switch (KIND) {
    case RACE: plain = 1; break;
    case ASSERTION: assert(!late); break;
    case ABORT: if (late) abort(); break;
    case CRASH: if (late) *(volatile int *)8 = 1; break;
    case DEADLOCK: both(&one, &other); break;
    case LIVELOCK: while (!atomic_load(&y)) {} break;
    case USED: block[0] = late; break;
    case FREED_TWICE: if (late) free(block); break;
    case OVERFLOW: plain = block[16 + late]; break;
    case MISUSE: pthread_mutex_unlock(&one); break;
    case STATUS: if (late) exit(3); break;
    case REORDERED:
        atomic_store_explicit(&y, 1, memory_order_relaxed);
        seen = atomic_load_explicit(&x, memory_order_relaxed);
        break;
    }
    return argument;
}

int main(void) {
    pthread_t thread;
    block = malloc(16);
    if (KIND == MISUSE) pthread_mutex_lock(&one);
    pthread_create(&thread, NULL, run, NULL);
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    int read = atomic_load_explicit(&y, memory_order_relaxed);
    if (KIND == RACE) plain = 2;
    if (KIND == DEADLOCK) both(&other, &one);
    if (KIND == USED) free(block);
    pthread_join(thread, NULL);
    if (KIND == REORDERED) assert(read || seen);
    if (KIND == FREED_TWICE) free(block);
    return plain < 0;
}
