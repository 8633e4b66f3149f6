// Whoever comes first ends the process, also when the other has printed already and created a thread.
// fencepost check --keep-going: fail exit-status exit-status, 2 executions
// fencepost test --keep-going: fail exit-status exit-status
#include <pthread.h>
#include <unistd.h>
static void *t2(void *u) { return u; }
static void *t1(void *u)
{
    pthread_t h;
    pthread_create(&h, 0, t2, 0);
    (void)!write(1, "1\n", 2);
    _exit(1);
    return u;
}
int main(void)
{
    pthread_t h;
    pthread_create(&h, 0, t1, 0);
    (void)!write(1, "2\n", 2);
    _exit(2);
}
