// Ends in a different way for each order of two threads: the first argument says how.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
atomic_int turn;
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
const char *how;
void *set(void *unused) {
  atomic_store(&turn, 1);
  return 0;
}
void *other_way(void *unused) {
  pthread_mutex_lock(&b);
  pthread_mutex_lock(&a);
  pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&b);
  return 0;
}
int main(int count, char **arguments) {
  how = arguments[1];
  pthread_t t;
  if (!strcmp(how, "deadlock")) {
    pthread_create(&t, 0, other_way, 0);
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    pthread_join(t, 0);
    return 0;
  }
  pthread_create(&t, 0, set, 0);
  int seen = atomic_load(&turn);
  printf("seen %d\n", seen);
  if (seen) {
    if (!strcmp(how, "assert"))
      assert(!seen);
    if (!strcmp(how, "abort"))
      abort();
    if (!strcmp(how, "segfault"))
      *(volatile int *)0 = 1;
    if (!strcmp(how, "divide")) {
      volatile int zero = 0;
      return 7 / zero;
    }
    if (!strcmp(how, "status"))
      exit(3);
    if (!strcmp(how, "quick"))
      _exit(4);
    if (!strcmp(how, "loop"))
      for (;;)
        ;
    if (!strcmp(how, "spin"))
      while (atomic_load(&turn))
        ;
    if (!strcmp(how, "count"))
      for (int i = 0; i < 100000 && atomic_load(&turn); i++)
        ;
    if (!strcmp(how, "double-free")) {
      char *volatile p = malloc(10);
      free(p);
      free(p);
    }
    if (!strcmp(how, "overflow")) {
      char *volatile p = malloc(10);
      p[10] = 1;
      free(p);
    }
    if (!strcmp(how, "use-after-free")) {
      char *volatile p = malloc(10);
      free(p);
      p[3] = 1;
    }
    if (!strcmp(how, "die"))
      // exit_group, past the C library
      __asm__ volatile("syscall" : : "a"(231), "D"(9) : "rcx", "r11", "memory");
  }
  pthread_join(t, 0);
  return 0;
}
