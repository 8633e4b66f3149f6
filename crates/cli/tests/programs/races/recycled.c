// A block that was used, freed and allocated again is published without release. What the old object was used for
// orders nothing in the new one.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct message {
  atomic_int ready;
  int text;
  char rest[60000];
};

static struct message *_Atomic published;

static void *writer(void *unused) {
  struct message *first = malloc(sizeof *first), *message = first;
  atomic_store_explicit(&first->ready, 2, memory_order_relaxed);
  // Freed memory rests for a while.
  do {
    free(message);
    message = malloc(sizeof *message);
  } while (message != first);
  message->text = 1;
  // As constructors of C++ do it.
  *(int *)&message->ready = 1;
  if (atomic_load_explicit(&message->ready, memory_order_relaxed) != 1)
    abort();
  atomic_store_explicit(&published, message, memory_order_relaxed);
  return 0;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, writer, 0);
  struct message *message;
  while (!(message = atomic_load_explicit(&published, memory_order_acquire)))
    ;
  int text = atomic_load_explicit(&message->ready, memory_order_acquire) == 1 ? message->text : 0;
  pthread_join(thread, 0);
  free(message);
  return text > 1;
}
