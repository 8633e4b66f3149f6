// A thread counts in its frame, wherever in it: it never stands where it stood before, and the loop ends. Each function
// has its counter at another place.
// fencepost check: fail assertion
// fencepost check --model sc: fail assertion
// fencepost check [CFLAGS=-O0]: fail assertion
// fencepost check [CFLAGS=-O2]: fail assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int flag, ended;
#define COUNT(name, words)                        \
    static void *name(void *p) {                  \
        volatile long rest[words];                \
        volatile long i;                          \
        rest[0] = 0;                              \
        for (i = rest[0]; i < 3; i++) {           \
            atomic_load(&flag);                   \
        }                                         \
        atomic_fetch_add(&ended, 1);              \
        return p;                                 \
    }                                             \
    static void *name##_first(void *p) {          \
        volatile long i;                          \
        volatile long rest[words];                \
        rest[words - 1] = 0;                      \
        for (i = 0; i < 3; i++) {                 \
            atomic_load(&flag);                   \
        }                                         \
        atomic_fetch_add(&ended, 1);              \
        return p;                                 \
    }
COUNT(one, 1)
COUNT(two, 2)
COUNT(four, 4)
COUNT(eight, 8)
COUNT(sixteen, 16)
int main(void) {
    void *(*functions[])(void *) = {one,  one_first,  two,   two_first,   four,
                                    four_first, eight, eight_first, sixteen, sixteen_first};
    for (int i = 0; i < 10; i++) {
        pthread_t t;
        pthread_create(&t, 0, functions[i], 0);
        pthread_join(t, 0);
    }
    assert(atomic_load(&ended) != 10);
}
