// <threads.h>, one thing for each name: every execution must end with status 0. What the threads share is plain, so
// that a function which orders nothing would show as a race.
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

static int data, calls;
static mtx_t mutex;
static cnd_t condition;
static once_flag flag = ONCE_FLAG_INIT;
static tss_t key;

static struct timespec in_a_while(void) {
  struct timespec time;
  assert(timespec_get(&time, TIME_UTC) == TIME_UTC);
  time.tv_sec += 2;
  return time;
}

static int adds(void *unused) {
  assert(mtx_lock(&mutex) == thrd_success);
  data++;
  assert(mtx_unlock(&mutex) == thrd_success);
  return -7;
}

static int adds_and_tells(void *unused) {
  adds(unused);
  assert(cnd_signal(&condition) == thrd_success);
  thrd_exit(5);
}

static int tries(void *unused) {
  while (mtx_trylock(&mutex) == thrd_busy)
    thrd_yield();
  data++;
  mtx_unlock(&mutex);
  return 0;
}

static void initialise(void) { data = ++calls; }

static int needs_it(void *unused) {
  call_once(&flag, initialise);
  return data;
}

static void destroy(void *value) { *(int *)value = 9; }

static int keeps(void *value) {
  assert(tss_get(key) == 0 && tss_set(key, value) == thrd_success);
  return 0;
}

static int sleeps(void *unused) {
  struct timespec long_time = {3600, 0};
  return thrd_sleep(&long_time, 0);
}

static int result_of(thrd_t thread) {
  int result;
  assert(thrd_join(thread, &result) == thrd_success);
  return result;
}

static thrd_t start(thrd_start_t function, void *argument) {
  thrd_t thread;
  assert(thrd_create(&thread, function, argument) == thrd_success);
  return thread;
}

int main(int count, char **arguments) {
  const char *what = arguments[1];
  mtx_init(&mutex, strcmp(what, "recursive") ? mtx_timed : mtx_recursive);
  cnd_init(&condition);
  if (!strcmp(what, "locks")) {
    thrd_t one = start(adds, 0), two = start(tries, 0);
    assert(result_of(one) == -7 && result_of(two) == 0 && data == 2);
  } else if (!strcmp(what, "recursive")) {
    thrd_t one = start(adds, 0);
    mtx_lock(&mutex);
    adds(0);
    data++;
    mtx_unlock(&mutex);
    result_of(one);
    assert(data == 3);
  } else if (!strcmp(what, "waits")) {
    thrd_t one = start(adds_and_tells, 0);
    mtx_lock(&mutex);
    while (!data)
      cnd_wait(&condition, &mutex);
    mtx_unlock(&mutex);
    assert(result_of(one) == 5);
  } else if (!strcmp(what, "times")) {
    struct timespec until = in_a_while();
    mtx_lock(&mutex);
    assert(cnd_timedwait(&condition, &mutex, &until) == thrd_timedout);
    until = in_a_while();
    thrd_t one = start(adds, 0);
    mtx_unlock(&mutex);
    if (mtx_timedlock(&mutex, &until) == thrd_success)
      mtx_unlock(&mutex);
    result_of(one);
    assert(result_of(start(sleeps, 0)) == 0);
  } else if (!strcmp(what, "once")) {
    thrd_t one = start(needs_it, 0), two = start(needs_it, 0);
    assert(result_of(one) == 1 && result_of(two) == 1 && calls == 1);
  } else if (!strcmp(what, "keys")) {
    assert(tss_create(&key, destroy) == thrd_success);
    result_of(start(keeps, &data));
    assert(data == 9);
    tss_delete(key);
  } else if (!strcmp(what, "detaches")) {
    assert(thrd_detach(start(adds, 0)) == thrd_success);
  } else {
    return 1;
  }
  return 0;
}
