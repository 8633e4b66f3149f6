// liburcu itself: a reader follows a pointer in a read-side critical section, a writer replaces what it points to and
// frees the old one after a grace period. The library is not instrumented.
#include <urcu/urcu-mb.h>
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct pair {
    int a, b;
};
static struct pair *current;

static struct pair *make(int value) {
    struct pair *pair = malloc(sizeof *pair);
    pair->a = pair->b = value;
    return pair;
}

static void *reader(void *unused) {
    urcu_mb_register_thread();
    for (int i = 0; i < 2; i++) {
        urcu_mb_read_lock();
        struct pair *pair = rcu_dereference(current);
        assert(pair->a == pair->b);
        urcu_mb_read_unlock();
    }
    urcu_mb_unregister_thread();
    return unused;
}

static void *writer(void *unused) {
    urcu_mb_register_thread();
    struct pair *old = current;
    rcu_assign_pointer(current, make(2));
    urcu_mb_synchronize_rcu();
    old->a = -1;
    free(old);
    urcu_mb_unregister_thread();
    return unused;
}

int main(void) {
    pthread_t threads[2];
    current = make(1);
    pthread_create(&threads[0], NULL, reader, NULL);
    pthread_create(&threads[1], NULL, writer, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    free(current);
}
