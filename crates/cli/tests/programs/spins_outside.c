// Waits in a loop outside of any operation; a second look may come before or after the second value.
#include <fencepost.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int ready, value;

static void *other(void *unused) {
  atomic_store(&value, 1);
  atomic_store(&ready, 1);
  atomic_store(&value, 2);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
  while (!atomic_load(&ready))
    ;
  fencepost_observe("value", atomic_load(&value));
  pthread_join(thread, 0);
  return 0;
}
