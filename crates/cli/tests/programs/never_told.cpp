// The waiting thread looks a few times before it sleeps, inside of the standard library. Nobody wakes it.
#include <atomic>
#include <thread>

std::atomic<int> stage{0};

int main() {
  std::thread other([] { stage.store(1); });
  stage.wait(0);
  other.join();
}
