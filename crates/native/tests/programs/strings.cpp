// Threads, strings and containers: everything that allocates, in every execution.
#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::atomic<int> turn{0};
static std::mutex lock;
static std::map<std::string, std::vector<std::string>> words;

int main() {
  auto work = [](int id) {
    thread_local std::string name = "a thread with a name that is long enough for the heap ";
    name += std::to_string(id);
    int order = turn.fetch_add(1);
    std::lock_guard<std::mutex> guard(lock);
    words[name].push_back(std::to_string(order));
  };
  std::thread a(work, 1), b(work, 2);
  a.join();
  b.join();
  return words.size() == 2 ? 0 : 1;
}
