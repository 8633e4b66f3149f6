// In some executions the program forks, in others it does not.
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>
static atomic_int x;
static void *other(void *unused) {
  atomic_store_explicit(&x, 1, memory_order_relaxed);
  return 0;
}
int main(void) {
  pthread_t t;
  int status = 0;
  pthread_create(&t, 0, other, 0);
  if (atomic_load_explicit(&x, memory_order_relaxed)) {
    if (fork() == 0)
      _exit(5);
    wait(&status);
  }
  pthread_join(t, 0);
  return WEXITSTATUS(status);
}
