// Waits for a plain variable that nobody changes. Under a hardware model every round of the loop is a step.
#include <pthread.h>

volatile int flag;

static void *other(void *unused) {
  while (!flag)
    ;
  return unused;
}

int main(int count, char **arguments) {
  pthread_t t;
  if (count > 1)
    flag = 1;
  pthread_create(&t, 0, other, 0);
  pthread_join(t, 0);
  return 0;
}
