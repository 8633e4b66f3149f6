/* Plain ints: exit status 9 if the flag is seen and the message is not. */
#include <pthread.h>
static int message, flag;
static void *writer(void *p) { message = 1; flag = 1; return p; }
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, writer, 0);
    int seen = flag, got = message;
    pthread_join(a, 0);
    return seen && !got ? 9 : 0;
}
