// What the loop writes is the same every time, so that it waits.
// fencepost check [CXXFLAGS=-std=c++20]: pass
// fencepost test --executions 300 [CXXFLAGS=-std=c++20]: pass
// What it writes is undone before it looks again.
// fencepost check [CXXFLAGS=-std=c++20 -DTO_AND_FRO]: pass
// fencepost test --executions 300 [CXXFLAGS=-std=c++20 -DTO_AND_FRO]: pass
// It counts, and gives up after three looks: that is no waiting.
// fencepost check [CXXFLAGS=-std=c++20 -DCOUNTS]: fail assertion
#include <atomic>
#include <cassert>
#include <thread>

std::atomic<int> ready{0};
int item, looks;
struct {
    int value;
    long wide;
    char bytes[24];
} cache;

static void waits() {
#ifdef COUNTS
    while (ready.load(std::memory_order_acquire) == 0 && looks < 3)
        looks++;
#elif defined TO_AND_FRO
    while (ready.load(std::memory_order_acquire) == 0) {
        cache.value = 1;
        cache.value = 0;
    }
#else
    int value;
    do {
        value = ready.load(std::memory_order_acquire);
        cache.value = value;
        cache.wide = value;
        for (char &byte : cache.bytes)
            byte = value;
    } while (value == 0);
#endif
}

int main() {
    std::thread thread([] {
        waits();
        assert(looks < 3 && (item == 1 || looks > 0));
    });
    item = 1;
    ready.store(1, std::memory_order_release);
    thread.join();
}
