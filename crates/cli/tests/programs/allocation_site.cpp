// What libstdc++ does for the program has the program's line.
#include <atomic>
#include <thread>

static std::atomic<int *> box{nullptr};

static int *make() {
    return new int(1); // line 8: the block
}

int main() {
    std::thread a([] { box.store(make(), std::memory_order_relaxed); }); // line 12: thread 1
    std::thread b([] {                                                   // line 13: thread 2
        if (int *p = box.load(std::memory_order_relaxed)) *p = 2;
    });
    a.join();
    b.join();
    delete box.load();
}
