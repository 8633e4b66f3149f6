// Nobody sends the signal: a deadlock, told at once and not after a time-out.
// fencepost test --executions 20: fail deadlock
// fencepost test --model pso --executions 20: fail deadlock
// fencepost check: fail deadlock
#include <pthread.h>
#include <signal.h>

static void *waiter(void *argument) {
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigwait(&set, &signal);
    return argument;
}

int main(void) {
    sigset_t set;
    pthread_t thread;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&thread, 0, waiter, 0);
    pthread_join(thread, 0);
    return 0;
}
