// Two threads store; whoever has read the other's value knows that it is the later one. The kernel, asked whether the
// word still has it, cannot find the earlier one, even if that was stored later in time.
// fencepost test --executions 2000: pass
// fencepost test --executions 2000 --model pso: pass
// fencepost check: pass
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static atomic_int word;
static void *other(void *u) {
    atomic_store_explicit(&word, 2, memory_order_release);
    return u;
}
int main(void) {
    pthread_t t;
    struct timespec soon = {0, 1000};
    pthread_create(&t, 0, other, 0);
    atomic_store_explicit(&word, 1, memory_order_release);
    if (atomic_load_explicit(&word, memory_order_acquire) == 2) {
        long woken = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, &soon, NULL, 0);
        assert(woken == -1 && errno == ETIMEDOUT);
    }
    pthread_join(t, 0);
    return 0;
}
