// examples/safe/idle.c in C++.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

static void fence()
{
#ifdef FIXED
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

static std::atomic<bool> is_idling, has_work;
static std::mutex mutex;
static std::condition_variable wake;

static void block_on_idle()
{
    std::unique_lock lock(mutex);
    is_idling.store(true, std::memory_order_relaxed);
    fence();
    if (!has_work.load(std::memory_order_relaxed))
        wake.wait(lock);
    is_idling.store(false, std::memory_order_relaxed);
}

static void notify_potential_work()
{
    has_work.store(true, std::memory_order_relaxed);
    fence();
    if (is_idling.load(std::memory_order_relaxed)) {
        std::lock_guard lock(mutex);
        wake.notify_one();
    }
}

int main()
{
    std::thread consumer(block_on_idle);
    notify_potential_work();
    consumer.join();
}
