// A test_and_set of what is set already waits.
// fencepost check: pass, 2 executions
#include <pthread.h>
#include <stdatomic.h>
atomic_flag f = ATOMIC_FLAG_INIT;
int c;
void *t(void *a) { while (atomic_flag_test_and_set(&f)) ; c++; atomic_flag_clear(&f); return 0; }
int main() {
    pthread_t a, b;
    pthread_create(&a, 0, t, 0);
    pthread_create(&b, 0, t, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
