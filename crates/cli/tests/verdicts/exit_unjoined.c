// The thread may run before main returns.
// fencepost check: fail assertion
// fencepost test: fail assertion
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
atomic_int x;
void *t(void *a){ assert(0); return 0; }
int main(){ pthread_t p; pthread_create(&p,0,t,0); return 0; }
