// What POSIX lets threads do to each other and to themselves, one thing for each name: every execution must end with
// status 0.
#define _GNU_SOURCE
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

static atomic_int stage;
static int cleaned, ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

static pthread_t start(void *(*function)(void *)) {
  pthread_t thread;
  assert(pthread_create(&thread, 0, function, 0) == 0);
  return thread;
}

static void *result_of(pthread_t thread) {
  void *result;
  assert(pthread_join(thread, &result) == 0);
  return result;
}

static void await(int value) {
  while (atomic_load(&stage) < value)
    sched_yield();
}

static void cleanup(void *number) { cleaned = cleaned * 10 + (int)(long)number; }
static void unlock(void *lock) { pthread_mutex_unlock(lock); }

static void *asks(void *unused) {
  pthread_cleanup_push(cleanup, (void *)1);
  pthread_cleanup_push(cleanup, (void *)2);
  atomic_store(&stage, 1);
  for (;;)
    pthread_testcancel();
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
}

static void *waits(void *unused) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(unlock, &mutex);
  atomic_store(&stage, 1);
  for (;;)
    pthread_cond_wait(&condition, &mutex);
  pthread_cleanup_pop(0);
}

static void *sleeps(void *unused) {
  atomic_store(&stage, 1);
  sleep(1000000);
  assert(0);
}

static void *waits_for_a_semaphore(void *unused) {
  atomic_store(&stage, 1);
  sem_wait(&semaphore);
  assert(0);
}

static void *computes(void *unused) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
  for (;;)
    atomic_store(&stage, 1);
}

static void *refuses(void *unused) {
  int old;
  assert(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old) == 0 && old == PTHREAD_CANCEL_ENABLE);
  atomic_store(&stage, 1);
  await(2);
  pthread_testcancel();
  cleaned = 7;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, 0);
  pthread_testcancel();
  assert(0);
}

static void cancelled(void *(*function)(void *), int expected) {
  pthread_t thread = start(function);
  await(1);
  assert(pthread_cancel(thread) == 0);
  atomic_store(&stage, 2);
  assert(result_of(thread) == PTHREAD_CANCELED && cleaned == expected);
  // Whoever was cancelled left nothing locked.
  assert(pthread_mutex_lock(&mutex) == 0);
}

static void cancel_where_it_asks(void) { cancelled(asks, 21); }
static void cancel_in_a_wait(void) { cancelled(waits, 0); }
static void cancel_in_sleep(void) { cancelled(sleeps, 0); }
static void cancel_at_a_semaphore(void) { cancelled(waits_for_a_semaphore, 0); }
static void cancel_at_any_time(void) { cancelled(computes, 0); }
static void cancel_when_it_agrees(void) { cancelled(refuses, 7); }

static void leaves(void) { pthread_exit((void *)42); }
static void *leaves_early(void *unused) {
  pthread_cleanup_push(cleanup, (void *)3);
  leaves();
  pthread_cleanup_pop(0);
  return 0;
}
static void exits(void) { assert(result_of(start(leaves_early)) == (void *)42 && cleaned == 3); }

static void *prints(void *unused) {
  flockfile(stdout);
  printf("%.1f ", 1.5);
  sched_yield();
  flockfile(stdout);
  puts("together");
  funlockfile(stdout);
  funlockfile(stdout);
  return 0;
}
static void *prints_once(void *unused) {
  printf("%.2f %s\n", 2.25, "alone");
  return 0;
}
static void keeps_a_stream(void) {
  pthread_t threads[] = {start(prints), start(prints), start(prints_once)};
  for (int i = 0; i < 3; i++)
    result_of(threads[i]);
}

static void *writes(void *unused) {
  sched_yield();
  assert(write(ends[1], "x", 1) == 1);
  return 0;
}
static pthread_t writer(void) {
  assert(pipe(ends) == 0);
  return start(writes);
}
static void selects(void) {
  pthread_t thread = writer();
  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  assert(select(ends[0] + 1, &set, 0, 0, 0) == 1 && FD_ISSET(ends[0], &set));
  struct timespec now = {0, 0};
  assert(pselect(ends[0] + 1, &set, 0, 0, &now, 0) == 1);
  result_of(thread);
}
static void polls(void) {
  pthread_t thread = writer();
  struct pollfd file = {.fd = ends[0], .events = POLLIN};
  assert(poll(&file, 1, -1) == 1 && ppoll(&file, 1, 0, 0) == 1);
  result_of(thread);
}
static void waits_for_events(void) {
  pthread_t thread = writer();
  int set = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
  assert(epoll_wait(set, &event, 1, -1) == 1 && epoll_pwait(set, &event, 1, 10, 0) == 1);
  result_of(thread);
}
static void waits_in_vain(void) {
  assert(pipe(ends) == 0);
  pthread_t thread = start(sleeps);
  await(1);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  struct timeval hour = {.tv_sec = 1};
  assert(select(ends[0] + 1, &set, 0, 0, &hour) == 0);
  pthread_cancel(thread);
  result_of(thread);
}

static void *jumps(void *unused) {
  jmp_buf back;
  volatile int times = 0;
  if (setjmp(back) < 3) {
    times++;
    sched_yield();
    longjmp(back, times);
  }
  assert(times == 3);
  sigjmp_buf further;
  volatile int jumped = 0;
  if (!sigsetjmp(further, 1)) {
    jumped = 1;
    siglongjmp(further, 1);
  }
  assert(jumped);
  return 0;
}
static void jumps_everywhere(void) {
  pthread_t a = start(jumps), b = start(jumps);
  jumps(0);
  result_of(a), result_of(b);
}

static void *needs_room(void *unused) {
  volatile char room[12 << 20];
  for (size_t i = 0; i < sizeof room; i += 4096)
    room[i] = 1;
  return 0;
}
static void asks_for_a_stack(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16 << 20);
  assert(pthread_create(&thread, &attributes, needs_room, 0) == 0);
  result_of(thread);
}

static _Thread_local int number;
static int handled_by = -1;
static void handler(int signal) { handled_by = number; }
static void *gets_a_signal(void *unused) {
  number = 5;
  atomic_store(&stage, 1);
  await(2);
  return 0;
}
static void signals_a_thread(void) {
  signal(SIGUSR1, handler);
  pthread_t thread = start(gets_a_signal);
  await(1);
  assert(pthread_kill(thread, 0) == 0 && pthread_kill(thread, SIGUSR1) == 0);
  atomic_store(&stage, 2);
  result_of(thread);
  assert(handled_by == 5);
}

static void names_and_places(void) {
  char name[16];
  cpu_set_t set;
  pthread_t thread = start(gets_a_signal);
  await(1);
  assert(pthread_setname_np(thread, "worker") == 0);
  assert(pthread_getname_np(thread, name, sizeof name) == 0 && !strcmp(name, "worker"));
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  assert(pthread_setaffinity_np(thread, sizeof set, &set) == 0);
  assert(pthread_getaffinity_np(thread, sizeof set, &set) == 0);
  atomic_store(&stage, 2);
  result_of(thread);
}

static void inherits_priority(void) {
  pthread_mutexattr_t attributes;
  pthread_mutex_t heir;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init(&heir, &attributes);
  assert(pthread_mutex_lock(&heir) == 0 && pthread_mutex_unlock(&heir) == 0);
}

#define CASE(name) {#name, name}
static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {
    CASE(cancel_where_it_asks), CASE(cancel_in_a_wait), CASE(cancel_in_sleep), CASE(cancel_at_a_semaphore),
    CASE(cancel_at_any_time),
    CASE(cancel_when_it_agrees), CASE(exits), CASE(keeps_a_stream), CASE(selects), CASE(polls), CASE(waits_for_events),
    CASE(waits_in_vain), CASE(jumps_everywhere), CASE(asks_for_a_stack), CASE(signals_a_thread), CASE(names_and_places),
    CASE(inherits_priority),
};

int main(int count, char **arguments) {
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
    if (!strcmp(cases[i].name, arguments[1]))
      return cases[i].run(), 0;
  return 100;
}
