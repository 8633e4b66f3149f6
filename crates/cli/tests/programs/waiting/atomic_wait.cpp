// pass: the waiter sees the store or is woken
// -DTYPE=long pass: an atomic of another size waits through a counter of the library's
// -DNO_NOTIFY deadlock: nobody wakes
// -DTYPE=long -DNO_NOTIFY deadlock: nobody wakes
// -DORDER=relaxed data-race: it is woken all the same, but nothing orders what was written before the store
#include <atomic>
#include <cassert>
#include <thread>
#ifndef TYPE
#define TYPE int
#endif
#ifndef ORDER
#define ORDER release
#endif
std::atomic<TYPE> gate{0};
int data;

int main() {
    std::thread waiter([] {
        gate.wait(0);
        assert(data == 1);
    });
    data = 1;
    gate.store(1, std::memory_order::ORDER);
#ifndef NO_NOTIFY
    gate.notify_one();
#endif
    waiter.join();
}
