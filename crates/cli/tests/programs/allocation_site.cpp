// What libstdc++ does for the program has the program's line.
#include <atomic>
#include <thread>

static std::atomic<int *> box{nullptr};

static int *make() {
    return new int(1); // line 8: the block
}

static void produce() { box.store(make(), std::memory_order_relaxed); }

static void consume() {
    if (int *p = box.load(std::memory_order_relaxed)) *p = 2;
}

int main() {
    std::thread a(produce); // line 18: thread 1
    std::thread b(consume); // line 19: thread 2
    a.join();
    b.join();
    delete box.load();
}
