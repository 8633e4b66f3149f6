// Threads that end differ in nothing.
// fencepost check [CFLAGS=-DN=6]: pass, 1 executions
#include <pthread.h>
void *t(void *a) { pthread_exit(0); }
int main() {
    pthread_t p[N];
    for (int i = 0; i < N; i++) pthread_create(&p[i], 0, t, 0);
    for (int i = 0; i < N; i++) pthread_join(p[i], 0);
    return 0;
}
