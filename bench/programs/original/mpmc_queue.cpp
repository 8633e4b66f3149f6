/* The bounded queue of several producers and consumers of CDSChecker's benchmarks (Norris and Demsky, OOPSLA 2013),
   rebuilt from the published version that tsan11 and C11Tester were measured with.

   There is an item from the start; two threads write one each, and two others read until the queue is empty.
   Bug: an item is published with a relaxed `fetch_add`, so that a reader does not synchronise with its writer.
   C11Tester counts the race on an item. */
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>

constexpr std::memory_order relaxed = std::memory_order_relaxed;
constexpr std::memory_order acquire = std::memory_order_acquire;
constexpr std::memory_order release = std::memory_order_release;
constexpr std::memory_order acq_rel = std::memory_order_acq_rel;
constexpr unsigned SIZE = 4, HALF = 0xffff;

struct Queue {
    int32_t items[SIZE];
    std::atomic<unsigned> begun; /* Reads that have begun in the upper half, writes in the lower. */
    std::atomic<unsigned> read, written;

    Queue() {
        begun = 0;
        read = 0;
        written = 0;
    }

    int32_t *fetch() {
        unsigned now = begun.load(acquire);
        for (;;) {
            if ((now & HALF) == (now >> 16 & HALF)) return nullptr;
            if (begun.compare_exchange_weak(now, now + (1 << 16), acquire)) break;
            std::this_thread::yield();
        }
        while ((written.load(acquire) & HALF) != (now & HALF)) std::this_thread::yield();
        return &items[(now >> 16 & HALF) % SIZE];
    }

    void consume() { read.fetch_add(1, release); }

    int32_t *prepare() {
        unsigned now = begun.load(acquire);
        for (;;) {
            if ((now & HALF) == (((now >> 16) + SIZE) & HALF)) return nullptr;
            const unsigned next = (now & HALF << 16) | ((now + 1) & HALF);
            if (begun.compare_exchange_weak(now, next, acq_rel)) break;
            std::this_thread::yield();
        }
        while ((read.load(acquire) & HALF) != (now >> 16 & HALF)) std::this_thread::yield();
        return &items[(now & HALF) % SIZE];
    }

    void publish() { written.fetch_add(1, relaxed); }
};

static void writes(Queue *queue) {
    int32_t *item = queue->prepare();
    *item = 1;
    queue->publish();
}

static void reads(Queue *queue) {
    while (int32_t *item = queue->fetch()) {
        std::printf("read: %d\n", *item);
        queue->consume();
    }
}

int main() {
    Queue queue;
    std::printf("there is an item\n");
    int32_t *item = queue.prepare();
    *item = 17;
    queue.publish();
    std::thread writers[2], readers[2];
    for (std::thread &writer : writers) writer = std::thread(writes, &queue);
    for (std::thread &reader : readers) reader = std::thread(reads, &queue);
    for (std::thread &writer : writers) writer.join();
    for (std::thread &reader : readers) reader.join();
    std::printf("all have ended\n");
}
