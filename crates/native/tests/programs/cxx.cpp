// One feature of C++ for each name: every execution must end with status 0.
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <future>
#include <iostream>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                             \
      std::exit(1);                                                                                                    \
    }                                                                                                                  \
  } while (0)

static std::atomic<int> destroyed{0};
struct Counted {
  int value = 7;
  ~Counted() { destroyed.fetch_add(1); }
};

static void thread_local_objects() {
  auto work = [](int id) {
    thread_local Counted object;
    object.value += id;
    CHECK(object.value == 7 + id);
  };
  std::thread a(work, 1), b(work, 2);
  a.join();
  b.join();
  CHECK(destroyed == 2);
}

static void exceptions() {
  auto work = [](int id) {
    struct Guard {
      ~Guard() { destroyed.fetch_add(1); }
    };
    try {
      Guard guard;
      std::string long_text(100, 'x');
      throw std::runtime_error(long_text + std::to_string(id));
    } catch (std::exception &e) {
      CHECK(std::strlen(e.what()) == 101);
      std::this_thread::yield();
      CHECK(e.what()[100] == '0' + id);
    }
  };
  std::thread a(work, 1), b(work, 2);
  a.join();
  b.join();
  CHECK(destroyed == 2);
}

static void mutex() {
  std::mutex m;
  int n = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++)
    threads.emplace_back([&] {
      for (int k = 0; k < 3; k++) {
        std::lock_guard<std::mutex> lock(m);
        n++;
      }
    });
  for (auto &t : threads)
    t.join();
  CHECK(n == 9);
  std::recursive_mutex r;
  std::lock_guard<std::recursive_mutex> one(r), two(r);
  std::timed_mutex t;
  CHECK(t.try_lock_for(std::chrono::seconds(1)));
  std::thread late([&] { CHECK(!t.try_lock_for(std::chrono::seconds(5))); });
  late.join();
  t.unlock();
}

static void shared_mutex() {
  std::shared_mutex m;
  int value = 0;
  std::thread writer([&] {
    std::unique_lock lock(m);
    value = 1;
    value = 2;
  });
  std::thread reader([&] {
    std::shared_lock lock(m);
    CHECK(value == 0 || value == 2);
  });
  {
    std::shared_lock lock(m);
    CHECK(value == 0 || value == 2);
  }
  writer.join();
  reader.join();
  CHECK(value == 2);
}

static void condition_variable() {
  std::mutex m;
  std::condition_variable c;
  std::vector<int> queue;
  int sum = 0;
  std::thread consumer([&] {
    for (int i = 0; i < 4; i++) {
      std::unique_lock lock(m);
      c.wait(lock, [&] { return !queue.empty(); });
      sum += queue.back();
      queue.pop_back();
    }
  });
  for (int i = 1; i <= 4; i++) {
    {
      std::lock_guard lock(m);
      queue.push_back(i);
    }
    c.notify_one();
  }
  consumer.join();
  CHECK(sum == 10);
  std::unique_lock lock(m);
  CHECK(!c.wait_for(lock, std::chrono::hours(1), [] { return false; }));
}

static void call_once() {
  static std::once_flag flag;
  static int calls;
  auto work = [] {
    try {
      std::call_once(flag, [] {
        if (++calls == 1)
          throw std::runtime_error("first");
      });
    } catch (std::runtime_error &) {
    }
  };
  std::thread a(work), b(work), c(work);
  a.join();
  b.join();
  c.join();
  CHECK(calls == 2);
}

static int made;
struct Made {
  int value;
  Made() {
    made++;
    std::this_thread::yield();
    value = 42;
  }
};
static Made &instance() {
  static Made one;
  return one;
}
static void function_statics() {
  auto work = [] { CHECK(instance().value == 42); };
  std::thread a(work), b(work);
  a.join();
  b.join();
  CHECK(made == 1);
}

static void async() {
  auto one = std::async(std::launch::async, [] { return 20; });
  auto two = std::async(std::launch::async, [] { return 22; });
  CHECK(one.get() + two.get() == 42);
  std::promise<int> promise;
  auto future = promise.get_future();
  std::thread t([&] { promise.set_value(5); });
  CHECK(future.get() == 5);
  t.join();
}

static void jthread() {
  std::atomic<int> seen{0};
  {
    std::jthread t([&](std::stop_token stop) {
      while (!stop.stop_requested())
        std::this_thread::yield();
      seen = 1;
    });
  }
  CHECK(seen == 1);
}

static void semaphore() {
  std::counting_semaphore<4> s(0);
  int data = 0;
  std::thread t([&] {
    data = 1;
    s.release();
  });
  s.acquire();
  CHECK(data == 1);
  t.join();
  CHECK(!s.try_acquire_for(std::chrono::seconds(1)));
}

static void barrier() {
  std::barrier b(2);
  int left = 0, right = 0;
  std::thread t([&] {
    left = 1;
    b.arrive_and_wait();
    CHECK(right == 1);
    b.arrive_and_wait();
  });
  right = 1;
  b.arrive_and_wait();
  CHECK(left == 1);
  b.arrive_and_wait();
  t.join();
}

static void latch() {
  std::latch l(2);
  int data[2] = {0, 0};
  std::thread a([&] { data[0] = 1, l.count_down(); }), b([&] { data[1] = 1, l.count_down(); });
  l.wait();
  CHECK(data[0] + data[1] == 2);
  a.join();
  b.join();
}

static void atomic_wait() {
  std::atomic<int> word{0};
  int data = 0;
  std::thread t([&] {
    data = 1;
    // Not only release: libstdc++ then looks whether anybody waits, and nothing would keep that behind the store.
    word.store(1);
    word.notify_one();
  });
  word.wait(0, std::memory_order_acquire);
  CHECK(data == 1);
  t.join();
}

static void iostreams() {
  std::mutex m;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++)
    threads.emplace_back([&, i] {
      std::ostringstream text;
      text << "thread " << i << " says " << 1.5 * i << '\n';
      std::lock_guard lock(m);
      std::cout << text.str();
    });
  for (auto &t : threads)
    t.join();
}

static void sleeping() {
  auto start = std::chrono::steady_clock::now();
  std::atomic<int> order{0};
  int slow = 0, fast = 0;
  std::thread t([&] {
    std::this_thread::sleep_for(std::chrono::hours(1));
    slow = ++order;
  });
  std::thread u([&] {
    std::this_thread::sleep_for(std::chrono::minutes(1));
    fast = ++order;
  });
  t.join();
  u.join();
  CHECK(fast == 1 && slow == 2);
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::hours(1));
}

static void shared_pointers() {
  auto p = std::make_shared<Counted>();
  std::thread a([q = p] { CHECK(q->value == 7); }), b([q = p] { CHECK(q->value == 7); });
  p.reset();
  a.join();
  b.join();
  CHECK(destroyed == 1);
}

int main(int count, char **arguments) {
  struct {
    const char *name;
    void (*run)();
  } features[] = {{"thread_local", thread_local_objects},
                  {"exceptions", exceptions},
                  {"mutex", mutex},
                  {"shared_mutex", shared_mutex},
                  {"condition_variable", condition_variable},
                  {"call_once", call_once},
                  {"function_statics", function_statics},
                  {"async", async},
                  {"jthread", jthread},
                  {"semaphore", semaphore},
                  {"barrier", barrier},
                  {"latch", latch},
                  {"atomic_wait", atomic_wait},
                  {"iostreams", iostreams},
                  {"sleeping", sleeping},
                  {"shared_pointers", shared_pointers}};
  for (auto &feature : features)
    if (!std::strcmp(feature.name, arguments[1])) {
      feature.run();
      return 0;
    }
  return 2;
}
