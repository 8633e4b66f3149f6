// Fails in the way that its argument names, in a function and at a line of its own.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static int shared;
static atomic_int ready;
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static const char *how;
const char *detail;
char *volatile block;

static void race(void) {
  shared = 1; // race
}

static void assertion(void) {
  assert(shared == 17); // assertion
}

static void crash(int *nowhere) {
  *nowhere = 1; // crash
}

static void use_after_free(void) {
  block = malloc(10);
  free(block);
  block[3] = 1; // use-after-free
}

static void spin(void) {
  while (!atomic_load(&ready)) // livelock
    ;
}

static void both(pthread_mutex_t *first, pthread_mutex_t *second) {
  pthread_mutex_lock(first);
  pthread_mutex_lock(second); // deadlock
  pthread_mutex_unlock(second);
  pthread_mutex_unlock(first);
}

static void *other(void *unused) {
  if (!strcmp(how, "data-race"))
    race();
  if (!strcmp(how, "deadlock"))
    both(&b, &a);
  if (!strcmp(how, "livelock"))
    spin();
  return unused;
}

int main(int count, char **arguments) {
  how = arguments[1];
  detail = arguments[2];
  assert(count == 3 && !strcmp(detail, "it's two words"));
  pthread_t t;
  pthread_create(&t, 0, other, 0);
  if (!strcmp(how, "data-race"))
    race();
  if (!strcmp(how, "assertion"))
    assertion();
  if (!strcmp(how, "crash"))
    crash((int *)8);
  if (!strcmp(how, "use-after-free"))
    use_after_free();
  if (!strcmp(how, "deadlock"))
    both(&a, &b);
  pthread_join(t, 0);
  return 0;
}
