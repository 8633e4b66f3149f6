// Arrivals can be ordered in (3!)^3 ways, and nothing else is a choice.
// fencepost check [CFLAGS=-DN=3 -DR=3]: pass, 216 executions
#include <pthread.h>
pthread_barrier_t b;
void *t(void *a) { for (int i = 0; i < R; i++) pthread_barrier_wait(&b); return 0; }
int main() {
    pthread_t p[N];
    pthread_barrier_init(&b, 0, N);
    for (int i = 0; i < N; i++) pthread_create(&p[i], 0, t, 0);
    for (int i = 0; i < N; i++) pthread_join(p[i], 0);
    return 0;
}
