// Variables of two blocks, which compilers put in the same place, and a function that has returned where another now
// has its own.
#include <pthread.h>

static void *add(void *argument) {
    long *value = argument;
    *value += 1;
    return 0;
}

static void both(long *value) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, add, value);
    pthread_create(&threads[1], 0, add, value);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
}

__attribute__((noinline)) static void earlier(void) {
    long gone[8] = {0};
    pthread_t thread;
    pthread_create(&thread, 0, add, &gone[3]);
    pthread_join(thread, 0);
}

int main(void) {
    earlier();
    {
        long first[4] = {0};
        pthread_t thread;
        pthread_create(&thread, 0, add, &first[1]);
        pthread_join(thread, 0);
    }
    {
        long second[4] = {0};
        both(&second[1]);
    }
}
