// Counted down by the one thread that it waits for.
// fencepost check [CXXFLAGS=-std=c++20 -DLATCH=1]: pass
// fencepost test --executions 300 [CXXFLAGS=-std=c++20 -DLATCH=1]: pass
// One of the two never comes.
// fencepost check [CXXFLAGS=-std=c++20 -DLATCH=2]: fail deadlock
// Both arrive.
// fencepost check [CXXFLAGS=-std=c++20 -DBARRIER=2]: pass
// fencepost test --executions 300 [CXXFLAGS=-std=c++20 -DBARRIER=2]: pass
// One of the three never comes.
// fencepost check [CXXFLAGS=-std=c++20 -DBARRIER=3]: fail deadlock
// Acquired when it was released.
// fencepost check [CXXFLAGS=-std=c++20 -DSEMAPHORE=0]: pass
// fencepost test --executions 300 [CXXFLAGS=-std=c++20 -DSEMAPHORE=0]: pass
// Acquired before, so that nothing orders the two.
// fencepost check [CXXFLAGS=-std=c++20 -DSEMAPHORE=1]: fail data-race
// The value that was promised.
// fencepost check [CXXFLAGS=-std=c++20 -DFUTURE=3]: pass
// fencepost test --executions 300 [CXXFLAGS=-std=c++20 -DFUTURE=3]: pass
// Not the value that was promised.
// fencepost check [CXXFLAGS=-std=c++20 -DFUTURE=4]: fail assertion
// The promise is kept only after whoever waits for it has ended.
// fencepost check [CXXFLAGS=-std=c++20 -DNEVER]: fail deadlock
// A thread of the library's computes it.
// fencepost check [CXXFLAGS=-std=c++20 -DASYNC]: pass
// fencepost test --executions 300 [CXXFLAGS=-std=c++20 -DASYNC]: pass
// One of them runs the function, the other waits for it.
// fencepost check [CXXFLAGS=-std=c++20 -DONCE]: pass
// fencepost test --executions 300 [CXXFLAGS=-std=c++20 -DONCE]: pass
// Readers and a writer.
// fencepost check [CXXFLAGS=-std=c++20 -DSHARED]: pass
// fencepost test --executions 300 [CXXFLAGS=-std=c++20 -DSHARED]: pass
#include <atomic>
#include <barrier>
#include <cassert>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>

int main() {
    int x = 0, y = 0;
#if defined LATCH
    std::latch latch(LATCH);
    std::thread thread([&] { x = 1, latch.count_down(); });
    latch.wait();
    assert(x == 1);
#elif defined BARRIER
    std::barrier barrier(BARRIER);
    std::thread thread([&] { x = 1, barrier.arrive_and_wait(), assert(y == 1); });
    y = 1, barrier.arrive_and_wait(), assert(x == 1);
#elif defined SEMAPHORE
    std::counting_semaphore<3> semaphore(SEMAPHORE);
    std::thread thread([&] { x = 1, semaphore.release(); });
    semaphore.acquire();
    assert(x == 1);
#elif defined FUTURE
    std::promise<int> promise;
    auto future = promise.get_future();
    std::thread thread([&] { promise.set_value(3); });
    assert(future.get() == FUTURE);
#elif defined NEVER
    std::promise<int> promise;
    auto future = promise.get_future();
    std::thread thread([&] { future.wait(); });
    thread.join();
    promise.set_value(1);
#elif defined ASYNC
    std::thread thread([] {});
    assert(std::async(std::launch::async, [] { return 2; }).get() == 2);
#elif defined ONCE
    std::once_flag once;
    std::thread thread([&] { std::call_once(once, [&] { x++; }), assert(x == 1); });
    std::call_once(once, [&] { x++; }), assert(x == 1);
#elif defined SHARED
    std::shared_mutex mutex;
    std::thread thread([&] { std::unique_lock lock(mutex); x++; });
    {
        std::shared_lock lock(mutex);
        assert(x <= 1);
    }
#endif
    (void)y;
    if (thread.joinable())
        thread.join();
}
