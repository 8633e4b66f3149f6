// A store without instrumentation to a block of the heap, beside an atomic load. What the function does before there
// are threads and after them does no harm; and nor do functions that call nothing of the interface since they access
// their own stack, constants and what they return only (without -DWRITES).
//
// fencepost check [CFLAGS=-DWRITES]: incomplete
// fencepost check [CFLAGS=-O0 -DWRITES]: incomplete
// fencepost check --model sc [CFLAGS=-DWRITES]: incomplete
// fencepost safe --model tso [CFLAGS=-DWRITES]: incomplete
// fencepost check: pass
// fencepost check --model tso: pass
// fencepost check [CFLAGS=-O1]: pass
// fencepost check [CFLAGS=-O2]: pass
// fencepost check [CFLAGS=-O3]: pass
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct big {
    int a[6];
};

static const int table[] = {3, 1, 4, 1, 5, 9, 2, 6};

__attribute__((noinline)) static struct big make(int i) {
    struct big big = {{i, i + 1, i + 2, i + 3, 0, 0}};
    return big;
}

__attribute__((noinline)) static int local(int n) {
    int a[16];
    for (int i = 0; i < 16; i++) a[i] = i * n;
    int sum = 0;
    for (int i = 0; i < 16; i++) sum += a[(i * n) & 15];
    return sum;
}

__attribute__((noinline)) static int look_up(int i) {
    return table[i & 7];
}

__attribute__((noinline)) static const char *name(int i) {
    switch (i) {
    case 0: return "a";
    case 1: return "bb";
    case 2: return "c";
    case 3: return "ddd";
    case 5: return "ee";
    default: return "f";
    }
}

__attribute__((no_sanitize("thread"), noinline)) static void put(atomic_int *at, int value) {
    *(volatile int *)at = value;
}

static atomic_int *shared;

static void *run(void *arg) {
    (void)arg;
    struct big big = make(3);
    long sum = local(big.a[1]) + look_up(big.a[2]) + (long)strlen(name(big.a[0]));
#ifdef WRITES
    put(shared, 1);
#endif
    return (void *)sum;
}

int main(void) {
    shared = malloc(sizeof *shared);
    put(shared, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    int first = atomic_load(shared), second = atomic_load(shared);
    assert(first || !second);
    pthread_join(thread, NULL);
    put(shared, 2);
    free(shared);
    return 0;
}
