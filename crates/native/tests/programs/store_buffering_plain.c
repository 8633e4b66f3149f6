// Store buffering with plain ints: the status is 2 * r1 + r2. 0 needs a store buffer.
#include <pthread.h>
int x, y, r1, r2;
void *first(void *unused) {
  x = 1;
  r1 = y;
  return 0;
}
void *second(void *unused) {
  y = 1;
  r2 = x;
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
