// -DLATCH=1 pass: counted down by the one thread that it waits for
// -DLATCH=2 deadlock: one of the two never comes
// -DBARRIER=2 pass: both arrive
// -DBARRIER=3 deadlock: one of the three never comes
// -DSEMAPHORE=0 pass: acquired when it was released
// -DSEMAPHORE=1 data-race: acquired before, so that nothing orders the two
// -DFUTURE=3 pass: the value that was promised
// -DFUTURE=4 assertion: not the value that was promised
// -DNEVER deadlock: the promise is kept only after whoever waits for it has ended
// -DASYNC pass: a thread of the library's computes it
// -DONCE pass: one of them runs the function, the other waits for it
// -DSHARED pass: readers and a writer
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
