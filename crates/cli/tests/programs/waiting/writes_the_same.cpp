// pass: what the loop writes is the same every time, so that it waits
// -DTO_AND_FRO pass: what it writes is undone before it looks again
// -DCOUNTS assertion: it counts, and gives up after three looks: that is no waiting
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
