// The thread may write first.
// fencepost check: fail assertion | incomplete
#include <assert.h>
#include <pthread.h>
#include <unistd.h>
static int p[2];
static void *f(void *u) { write(p[1], "b", 1); return u; }
int main(void) {
    pipe(p);
    pthread_t t;
    pthread_create(&t, 0, f, 0);
    write(p[1], "a", 1);
    char c;
    read(p[0], &c, 1);
    pthread_join(t, 0);
    assert(c == 'a');        /* fails when the thread writes first */
    return 0;
}
