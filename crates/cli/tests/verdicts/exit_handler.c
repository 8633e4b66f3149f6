// Handlers run while other threads still do: the one that looks may see the store or not, and the status says which.
// fencepost check: fail exit-status
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
static atomic_int x;
static void look(void) { if (atomic_load(&x)) _exit(3); }
static void *f(void *u) { atomic_store(&x, 1); return u; }
int main(void)
{
    pthread_t a;
    atexit(look);
    pthread_create(&a, 0, f, 0);
    return 0;
}
