// A data race on a plain counter, beside an access that is ordered.
#include <pthread.h>
int counter, ordered;
void *count(void *unused) {
  counter++;
  return 0;
}
int main(void) {
  pthread_t t;
  ordered = 1;
  pthread_create(&t, 0, count, 0);
  counter++;
  pthread_join(t, 0);
  return ordered - 1;
}
