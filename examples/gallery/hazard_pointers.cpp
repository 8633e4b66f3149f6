/* Hazard pointers: a reader says which object it is about to use; who replaces an object frees it only if nobody
   said so.

   Published: Michael, Hazard pointers: safe memory reclamation for lock-free objects, TPDS 2004.
   Bug: the reader has lost the fence between its announcement and the second look that validates it. The two are a
   store and a load of different places, so that the look may come first: the writer does not see the announcement
   and frees the object.
   Fix (-DFIXED): a seq_cst fence there, against the one of the writer.
   Fencepost says: use after free in the reader (or the race that it is). */
#include <atomic>
#include <cassert>
#include <thread>

struct Object {
    int value;
    ~Object() { value = -1; }
};

static std::atomic<Object *> current{new Object{1}};
static std::atomic<Object *> hazard;

static Object *protect() {
    for (;;) {
        Object *seen = current.load(std::memory_order_relaxed);
        hazard.store(seen, std::memory_order_release);
#ifdef FIXED
        std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
        if (current.load(std::memory_order_acquire) == seen) return seen;
    }
}

static void look() {
    for (int i = 0; i < 2; i++) {
        int value = protect()->value;
        hazard.store(nullptr, std::memory_order_release);
        assert(value == 1 || value == 2);
    }
}

static void replace() {
    Object *old = current.exchange(new Object{2}, std::memory_order_acq_rel);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    while (hazard.load(std::memory_order_acquire) == old) std::this_thread::yield();
    delete old;
}

int main() {
    std::thread reader(look), writer(replace);
    reader.join();
    writer.join();
    delete current.load();
}
