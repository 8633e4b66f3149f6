/* Store buffering with seq_cst atomics, and a counter under a lock: nothing here can be reordered. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;
static int counter, seen[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void count(void) {
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
}

static void *first(void *argument) {
    x = 1;
    seen[0] = y;
    count();
    return argument;
}

static void *second(void *argument) {
    y = 1;
    seen[1] = x;
    count();
    return argument;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    assert(seen[0] || seen[1]);
    assert(counter == 2);
    return 0;
}
