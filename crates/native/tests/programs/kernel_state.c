// Changes what the kernel keeps: files, mappings, handlers, arguments. Every execution must find it as the first did.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static int counter;
static atomic_int flag;
static void handler(int signal) {}
static void *sleeper(void *unused) {
  sleep(1);
  atomic_store(&flag, 1);
  return 0;
}
int main(int count, char **arguments) {
  assert(counter++ == 0);
  // Left open, left mapped, left installed.
  int file = open("/dev/null", O_RDONLY);
  void *memory = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(memory, 1, 1 << 20);
  struct sigaction old;
  sigaction(SIGUSR1, 0, &old);
  assert(old.sa_handler == SIG_DFL);
  signal(SIGUSR1, handler);
  assert(!strcmp(arguments[1], "argument"));
  strcpy(arguments[1], "changed");
  assert(!getenv("CHANGED"));
  setenv("CHANGED", "yes", 1);
  char *block = malloc(3000);
  // One thread sleeps, the other spins until it has woken.
  pthread_t t;
  pthread_create(&t, 0, sleeper, 0);
  while (!atomic_load(&flag))
    sched_yield();
  pthread_join(t, 0);
  printf("%d %p %p\n", file, memory, (void *)block);
  return 0;
}
