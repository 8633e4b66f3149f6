/* Plain ints: exit status 1 + 2 * r1 + r2, so that each outcome is told apart. */
#include <pthread.h>
static int x, y, r1, r2;
static void *first(void *p) { x = 1; r1 = y; return p; }
static void *second(void *p) { y = 1; r2 = x; return p; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 1 + 2 * r1 + r2;
}
