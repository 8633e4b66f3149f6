/* A child process first, which no restart in place can undo; then message passing. */
#include <assert.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int data, flag;

static void *writer(void *argument) {
    data = 1;
    flag = 1;
    return argument;
}

static void *reader(void *argument) {
    if (flag)
        assert(data == 1);
    return argument;
}

int main(void) {
    if (fork() == 0)
        _exit(0);
    int status;
    wait(&status);
    pthread_t threads[2];
    pthread_create(&threads[0], 0, writer, 0);
    pthread_create(&threads[1], 0, reader, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
