/* The pointer is taken back between the check and the use. */
#include <pthread.h>
#include <stdatomic.h>
static int value = 1;
static _Atomic(int *) shared = &value;
static void *other(void *p) { atomic_store(&shared, (int *)0); return p; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    int result = 0;
    if (atomic_load(&shared)) result = *atomic_load(&shared);
    pthread_join(t, 0);
    return result > 1;
}
