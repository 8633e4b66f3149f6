// Both threads may run before main returns.
// fencepost check: fail data-race
// fencepost test: fail data-race
#include <pthread.h>
#include <stdatomic.h>
int data; atomic_int flag;
void *t1(void *a) { data = 1; atomic_store_explicit(&flag, 1, memory_order_relaxed); return 0; }
void *t2(void *a) { if (atomic_load_explicit(&flag, memory_order_relaxed)) data = 2; return 0; }
int main()
{
  pthread_t a, b;
  pthread_create(&a, 0, t1, 0);
  pthread_create(&b, 0, t2, 0);
  return 0;
}
