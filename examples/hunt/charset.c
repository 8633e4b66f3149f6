/* MySQL's initialisation of the available character sets, rebuilt from Orion's description: double-checked locking
 * with a plain flag. Under pso the flag can be there before the character sets; under tso not. -DFENCES adds what is
 * missing. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef FENCES
#define FENCE_STORES() atomic_thread_fence(memory_order_release)
#define FENCE_LOADS() atomic_thread_fence(memory_order_acquire)
#else
#define FENCE_STORES() ((void)0)
#define FENCE_LOADS() ((void)0)
#endif

struct charset {
    volatile int number;
};

static struct charset *volatile all_charsets;
static volatile int charset_initialized;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void init_available_charsets(void) {
    if (charset_initialized) { /* 1 */
        FENCE_LOADS();
        return;
    }
    pthread_mutex_lock(&lock);
    if (!charset_initialized) { /* 2 */
        struct charset *sets = malloc(sizeof *sets);
        sets->number = 33; /* 3 */
        all_charsets = sets; /* 4 */
        FENCE_STORES();
        charset_initialized = 1; /* 5 */
    }
    pthread_mutex_unlock(&lock);
}

static void *use(void *argument) {
    init_available_charsets();
    struct charset *sets = all_charsets; /* 6 */
    FENCE_LOADS();
    if (sets->number != 33) /* 7 */
        abort();
    return argument;
}

int main(void) {
    pthread_t threads[2];
    for (int t = 0; t < 2; t++)
        pthread_create(&threads[t], 0, use, 0);
    for (int t = 0; t < 2; t++)
        pthread_join(threads[t], 0);
    return 0;
}
