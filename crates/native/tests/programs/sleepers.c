// Three threads that sleep equally long, or for different times: the exit status tells in which order they wake, the
// first one's number times nine plus the second's times three plus the third's.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static atomic_int place;
static int order[3], unequal;

static void *sleeper(void *argument) {
    int me = (int)(long)argument;
    usleep(unequal ? 50000 - 20000 * me : 10000);
    order[atomic_fetch_add(&place, 1)] = me;
    return NULL;
}

int main(int arguments, char **values) {
    unequal = arguments > 1 && strcmp(values[1], "unequal") == 0;
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, sleeper, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return order[0] * 9 + order[1] * 3 + order[2];
}
