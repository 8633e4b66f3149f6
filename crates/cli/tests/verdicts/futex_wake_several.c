// A wake-up of many threads is one step: a thread that it has woken, and that begins to wait again, is not woken by it
// a second time. And whoever was counted by a wake-up was woken.
// fencepost check --model sc: pass
// fencepost check --model tso: pass
// fencepost check: pass
// fencepost test: pass
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic uint32_t word, woken;

static void *waiter(void *unused) {
    while (atomic_load(&word) == 0) {
        if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == 0) atomic_fetch_add(&woken, 1);
    }
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waiter, NULL);
    // For nothing: whoever is woken by it waits again.
    long found = syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 100, NULL, NULL, 0);
    assert(found <= 1);
    atomic_store(&word, 1);
    found += syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 100, NULL, NULL, 0);
    pthread_join(thread, NULL);
    assert(woken == found);
    return 0;
}
