#include <pthread.h>
static int counter;
static void *other(void *p) {
    counter++;
    return p;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, other, 0);
    counter++;
    pthread_join(a, 0);
    return 0;
}
