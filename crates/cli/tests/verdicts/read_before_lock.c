// t2, t3, t1 in this order: the fifth of five executions fails.
// fencepost check: fail assertion
// fencepost check --model sc: fail assertion
// fencepost check --model tso: fail assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int x, y;
pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
void *t1(void *a)
{
  int r = x;
  pthread_mutex_lock(&l);
  pthread_mutex_unlock(&l);
  assert(r != 42);
  return 0;
}
void *t2(void *a)
{
  pthread_mutex_lock(&l);
  y = 42;
  pthread_mutex_unlock(&l);
  return 0;
}
void *t3(void *a)
{
  if (y == 42) x = 42;
  return 0;
}
int main()
{
  pthread_t a, b, c;
  pthread_create(&a, 0, t1, 0);
  pthread_create(&b, 0, t2, 0);
  pthread_create(&c, 0, t3, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  pthread_join(c, 0);
  return 0;
}
