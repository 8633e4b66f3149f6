/* Double-checked locking: an object that is made when it is first needed; only those that do not see it yet take the
   lock.

   Published: Schmidt and Harrison, Double-checked locking, PLoP 1996; what is wrong with it: Meyers and
   Alexandrescu, C++ and the perils of double-checked locking, 2004.
   Bug: the pointer is published and looked at with relaxed order: a thread can have it before it has what it points
   to.
   Fix (-DFIXED): the pointer is stored with release and loaded with acquire order.
   Fencepost says: data race between the constructor and `Settings::width`'s reader. */
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>

#ifdef FIXED
constexpr auto LOOK = std::memory_order_acquire, PUBLISH = std::memory_order_release;
#else
constexpr auto LOOK = std::memory_order_relaxed, PUBLISH = std::memory_order_relaxed;
#endif

struct Settings {
    int width = 80, height = 25;
};

static std::atomic<Settings *> instance;
static std::mutex mutex;

static Settings *settings() {
    Settings *found = instance.load(LOOK);
    if (found == nullptr) {
        std::lock_guard<std::mutex> guard(mutex);
        found = instance.load(std::memory_order_relaxed);
        if (found == nullptr) {
            found = new Settings;
            instance.store(found, PUBLISH);
        }
    }
    return found;
}

static void use() {
    Settings *s = settings();
    assert(s->width * s->height == 2000);
}

int main() {
    std::thread first(use), second(use);
    first.join();
    second.join();
    delete instance.load();
}
