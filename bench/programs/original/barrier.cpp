/* The spinning barrier of CDSChecker's benchmarks (Norris and Demsky, OOPSLA 2013), rebuilt from the published
   version that tsan11 and C11Tester were measured with.

   One thread writes and comes to the barrier, three others come to it and read.
   Bug: whoever comes last opens the barrier with a relaxed `fetch_add`, so that those who wait for it do not
   synchronise with anybody who came after them. C11Tester counts the race on `shared`. */
#include <atomic>
#include <cstdio>
#include <thread>

class Barrier {
    const unsigned expected;
    std::atomic<unsigned> arrived, generation;

public:
    explicit Barrier(unsigned threads) : expected(threads) {
        arrived = 0;
        generation = 0;
    }

    void wait() {
        const unsigned mine = generation.load();
        if (arrived.fetch_add(1) == expected - 1) {
            arrived.store(0);
            generation.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        while (generation.load() == mine) std::this_thread::yield();
    }
};

constexpr int READERS = 3;
static Barrier *meeting;
static int shared;

static void writes() {
    shared = 1;
    meeting->wait();
}

static void reads() {
    meeting->wait();
    std::printf("shared = %d\n", shared);
}

int main() {
    meeting = new Barrier(READERS + 1);
    std::thread readers[READERS];
    std::thread writer(writes);
    for (std::thread &reader : readers) reader = std::thread(reads);
    for (std::thread &reader : readers) reader.join();
    writer.join();
}
