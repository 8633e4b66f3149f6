// A thread that leaves by pthread_exit or is cancelled destroys what lies on its stack.
#include <atomic>
#include <cstdlib>
#include <pthread.h>
#include <string>

static std::atomic<int> destroyed{0}, waiting{0};

struct Object {
  std::string text = "long enough that it does not fit into the string itself";
  ~Object() { destroyed.fetch_add(1); }
};

static void leave() {
  Object inner;
  pthread_exit(reinterpret_cast<void *>(42));
}

static void *leaves(void *) {
  Object outer;
  thread_local Object own;
  own.text += "!";
  try {
    leave();
  } catch (...) {
    destroyed.fetch_add(10);
    throw;
  }
  return nullptr;
}

static void *waits(void *) {
  Object outer;
  waiting = 1;
  for (;;)
    pthread_testcancel();
}

int main() {
  pthread_t thread;
  void *result;
  pthread_create(&thread, nullptr, leaves, nullptr);
  pthread_join(thread, &result);
  if (result != reinterpret_cast<void *>(42) || destroyed != 13)
    return 1;
  pthread_create(&thread, nullptr, waits, nullptr);
  while (!waiting)
    sched_yield();
  pthread_cancel(thread);
  pthread_join(thread, &result);
  return result == PTHREAD_CANCELED && destroyed == 14 ? 0 : 2;
}
