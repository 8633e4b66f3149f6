// A timer calls a function in a thread of its own, in simulated time: a second time after the interval, and not after
// it was deleted. What the function has done before it posts is seen. -DRACE: it may be called once more before
// timer_delete, which waits for nobody.
// fencepost test --executions 300: pass
// fencepost test --model tso --executions 300: pass
// fencepost test --executions 1000 [CFLAGS=-DRACE]: fail data-race
// fencepost check: incomplete
#include <assert.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

static sem_t called;
static int sum;

static void call(union sigval value) {
    sum += value.sival_int;
    sem_post(&called);
}

int main(void) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = call, .sigev_value.sival_int = 2};
    struct itimerspec once = {.it_value = {0, 1000000}}, left;
    timer_t timer;
    sem_init(&called, 0, 0);
    assert(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    assert(timer_gettime(timer, &left) == 0 && left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0);
#ifdef RACE
    once.it_interval.tv_nsec = 1000000;
    timer_settime(timer, 0, &once, 0);
    sem_wait(&called);
#else
    timer_settime(timer, 0, &once, 0);
    sem_wait(&called);
    timer_settime(timer, 0, &once, &left);
    assert(left.it_value.tv_nsec == 0);
    sem_wait(&called);
#endif
    timer_delete(timer);
    assert(sum % 2 == 0 && sum >= 2);
    return 0;
}
