// A promise that is kept when its thread ends: the library does that in code without instrumentation, on the word that
// the other thread waits for. What was written before the promise is seen by whoever has its value.
//
// fencepost check: pass
// fencepost check --model tso: pass
// fencepost test --executions 500: pass
#include <cassert>
#include <future>
#include <thread>

static int data;

int main() {
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    std::thread thread([&] {
        data = 1;
        promise.set_value_at_thread_exit(9);
    });
    assert(future.get() == 9);
    assert(data == 1);
    thread.join();
}
