// Waits for signals give way to other threads: sigwaitinfo gets what was sent to the process, and what its sender did
// before is done; sigsuspend comes back when the handler has run; sigtimedwait gives up. When signals come is not
// explored, and nothing false is said of it.
// fencepost test --executions 300: pass
// fencepost test --model tso --executions 300: pass
// fencepost check: incomplete
// fencepost check --model tso: incomplete
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static int data;

static void handler(int signal) { handled += signal == SIGUSR1; }

static void *suspended(void *argument) {
    sigset_t others;
    sigfillset(&others);
    sigdelset(&others, SIGUSR1);
    assert(sigsuspend(&others) == -1 && errno == EINTR);
    assert(handled == 1);
    return argument;
}

static void *receiver(void *argument) {
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    assert(sigwaitinfo(&set, &info) == SIGTERM && info.si_signo == SIGTERM);
    assert(data == 3);
    return argument;
}

static void *taker(void *argument) {
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    assert(sigwait(&set, &signal) == 0 && signal == SIGHUP);
    return argument;
}

int main(void) {
    struct sigaction action = {.sa_handler = handler};
    struct timespec short_time = {0, 1000000};
    sigset_t set;
    pthread_t threads[3];
    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&threads[0], 0, suspended, 0);
    pthread_create(&threads[1], 0, receiver, 0);
    pthread_create(&threads[2], 0, taker, 0);
    data = 3;
    kill(getpid(), SIGTERM);
    pthread_kill(threads[0], SIGUSR1);
    pthread_kill(threads[2], SIGHUP);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    assert(sigtimedwait(&set, 0, &short_time) == -1 && errno == EAGAIN);
    return 0;
}
