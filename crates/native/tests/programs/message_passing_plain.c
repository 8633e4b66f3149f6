// Message passing with plain ints: the status is 2 * flag + data as the reader saw them. 2 is the stale message.
#include <pthread.h>
int data, flag, r1, r2;
void *writer(void *unused) {
  data = 1;
  flag = 1;
  return 0;
}
void *reader(void *unused) {
  r1 = flag;
  r2 = data;
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, reader, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 2 * r1 + r2;
}
