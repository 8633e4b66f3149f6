// The waiter sees the store or is woken.
// fencepost check [CXXFLAGS=-std=c++20]: pass
// fencepost test --executions 300 [CXXFLAGS=-std=c++20]: pass
// An atomic of another size waits through a counter of the library's.
// fencepost check [CXXFLAGS=-std=c++20 -DTYPE=long]: pass
// fencepost test --executions 300 [CXXFLAGS=-std=c++20 -DTYPE=long]: pass
// Nobody wakes.
// fencepost check [CXXFLAGS=-std=c++20 -DNO_NOTIFY]: fail deadlock
// Nobody wakes.
// fencepost check [CXXFLAGS=-std=c++20 -DTYPE=long -DNO_NOTIFY]: fail deadlock
// It is woken all the same, but nothing orders what was written before the store.
// fencepost check [CXXFLAGS=-std=c++20 -DORDER=relaxed]: fail data-race
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
