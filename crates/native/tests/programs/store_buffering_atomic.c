// Store buffering with relaxed atomics: the status is 2 * r1 + r2, and all four are allowed by C/C++20.
#include <pthread.h>
#include <stdatomic.h>
atomic_int x, y;
int r1, r2;
void *first(void *unused) {
  atomic_store_explicit(&x, 1, memory_order_relaxed);
  r1 = atomic_load_explicit(&y, memory_order_relaxed);
  return 0;
}
void *second(void *unused) {
  atomic_store_explicit(&y, 1, memory_order_relaxed);
  r2 = atomic_load_explicit(&x, memory_order_relaxed);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, first, 0);
  pthread_create(&b, 0, second, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 2 * r1 + r2;
}
