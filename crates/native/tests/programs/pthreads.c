// Every kind of pthread object, a pipe between two threads, keys, detached threads and time-outs: every execution must
// end with status 0.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static pthread_key_t key;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t recursive;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t semaphore;
static int destroyed, initialised, spun, written, nested, ends[2];

static void destroy(void *value) {
  __atomic_fetch_add(&destroyed, 1, __ATOMIC_SEQ_CST);
  free(value);
}

static void initialise(void) { initialised++; }

static void *work(void *by_exit) {
  pthread_setspecific(key, malloc(10));
  pthread_once(&once, initialise);
  pthread_barrier_wait(&barrier);
  pthread_spin_lock(&spin);
  spun++;
  pthread_spin_unlock(&spin);
  pthread_rwlock_wrlock(&rwlock);
  written++;
  pthread_rwlock_unlock(&rwlock);
  pthread_mutex_lock(&recursive);
  pthread_mutex_lock(&recursive);
  nested++;
  pthread_mutex_unlock(&recursive);
  pthread_mutex_unlock(&recursive);
  assert(pthread_mutex_lock(&checking) == 0);
  assert(pthread_mutex_lock(&checking) == EDEADLK);
  pthread_mutex_unlock(&checking);
  sem_post(&semaphore);
  if (by_exit)
    pthread_exit((void *)42);
  return (void *)7;
}

static void *post(void *unused) {
  sem_post(&semaphore);
  return 0;
}

static void *receive(void *unused) {
  char byte = 0;
  assert(read(ends[0], &byte, 1) == 1 && byte == 'x');
  return 0;
}

static struct timespec in_seconds(int seconds) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += seconds;
  return time;
}

int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &attributes);
  pthread_key_create(&key, destroy);
  pthread_barrier_init(&barrier, 0, 2);
  pthread_spin_init(&spin, 0);
  sem_init(&semaphore, 0, 0);

  pthread_t a, b;
  void *one, *other;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, &a);
  sem_wait(&semaphore);
  sem_wait(&semaphore);
  pthread_join(a, &one);
  pthread_join(b, &other);
  assert(one == (void *)7 && other == (void *)42);
  assert(destroyed == 2 && initialised == 1);
  assert(spun == 2 && written == 2 && nested == 2);

  pthread_create(&a, 0, post, 0);
  pthread_detach(a);
  sem_wait(&semaphore);

  struct timespec time = in_seconds(10);
  pthread_mutex_lock(&mutex);
  assert(pthread_cond_timedwait(&condition, &mutex, &time) == ETIMEDOUT);
  pthread_mutex_unlock(&mutex);
  time = in_seconds(5);
  assert(sem_timedwait(&semaphore, &time) == -1 && errno == ETIMEDOUT);
  int value;
  sem_getvalue(&semaphore, &value);
  assert(value == 0);

  assert(pipe(ends) == 0);
  pthread_create(&a, 0, receive, 0);
  assert(write(ends[1], "x", 1) == 1);
  pthread_join(a, 0);
  return 0;
}
