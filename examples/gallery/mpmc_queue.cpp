/* A bounded queue for many producers and consumers: reads and writes that have begun are counted together in one
   word, those that are complete in two others.

   Published: Charles Bloom, mpmc_boundq_1_alt, 2011 (cbloom rants); as a benchmark (mpmc-queue) by Norris and
   Demsky, OOPSLA 2013. Two producers, two consumers and an element that is there from the start, as there. One
   difference, in both variants: Bloom's threads complete in any order and wait for an exact count, which can belong
   to somebody else; here they complete in the order in which they began.
   Bug: a producer publishes its element with relaxed order (the bug that the tsan11 benchmarks put there).
   Fix (-DFIXED): publishing releases.
   Fencepost says: data race on an element of the queue. */
#include <atomic>
#include <cstdint>
#include <thread>

#ifdef FIXED
constexpr auto PUBLISH = std::memory_order_release;
#else
constexpr auto PUBLISH = std::memory_order_relaxed;
#endif

template <typename T, uint16_t SIZE> class Queue {
    T elements[SIZE];
    std::atomic<uint32_t> begun{0}; // reads in the high half, writes in the low one
    std::atomic<uint16_t> read{0}, written{0};

    // Waits until a count, which may have wrapped round, is at least `least`.
    static void wait(const std::atomic<uint16_t> &count, uint16_t least) {
        while (int16_t(count.load(std::memory_order_acquire) - least) < 0) std::this_thread::yield();
    }

public:
    struct Place {
        T *element;
        uint16_t number;
    };

    Place begin_write() {
        uint32_t both = begun.load(std::memory_order_acquire);
        uint16_t reads, writes;
        do {
            reads = both >> 16, writes = both;
            if (uint16_t(writes - reads) == SIZE) return {nullptr, 0}; // full
        } while (!begun.compare_exchange_weak(both, uint32_t(reads) << 16 | uint16_t(writes + 1),
                                              std::memory_order_acq_rel));
        wait(read, writes + 1 - SIZE);
        return {&elements[writes % SIZE], writes};
    }

    void end_write(Place place) {
        wait(written, place.number);
        written.store(place.number + 1, PUBLISH);
    }

    Place begin_read() {
        uint32_t both = begun.load(std::memory_order_acquire);
        uint16_t reads, writes;
        do {
            reads = both >> 16, writes = both;
            if (writes == reads) return {nullptr, 0}; // empty
        } while (!begun.compare_exchange_weak(both, both + (1 << 16), std::memory_order_acq_rel));
        wait(written, reads + 1);
        return {&elements[reads % SIZE], reads};
    }

    void end_read(Place place) {
        wait(read, place.number);
        read.store(place.number + 1, std::memory_order_release);
    }
};

static Queue<int, 4> queue;

static void produce(int value) {
    auto place = queue.begin_write();
    if (place.element == nullptr) return;
    *place.element = value;
    queue.end_write(place);
}

static void consume() {
    for (auto place = queue.begin_read(); place.element != nullptr; place = queue.begin_read()) {
        [[maybe_unused]] volatile int value = *place.element;
        queue.end_read(place);
    }
}

int main() {
    produce(17);
    std::thread threads[] = {std::thread(produce, 1), std::thread(produce, 2), std::thread(consume),
                             std::thread(consume)};
    for (std::thread &thread : threads) thread.join();
}
