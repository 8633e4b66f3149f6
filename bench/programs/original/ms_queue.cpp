/* The queue of Michael and Scott of CDSChecker's benchmarks (Norris and Demsky, OOPSLA 2013), rebuilt from the
   published version that tsan11 and C11Tester were measured with.

   Four threads enqueue and dequeue once each, and each has two free nodes.
   Bugs: all threads but the first use the second thread's input, output and result, and a thread finds its number by
   comparing handles that main is still writing. C11Tester counts these races, which are there in every execution, and
   not what is wrong in the queue: a new node's link is cleared with a relaxed store, and `dequeue` loads the tail with
   relaxed order. */
#include <atomic>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

constexpr std::memory_order relaxed = std::memory_order_relaxed;
constexpr std::memory_order acquire = std::memory_order_acquire;
constexpr std::memory_order release = std::memory_order_release;
constexpr int THREADS = 4, MOST_FREE = 4, FIRST_FREE = 2;
constexpr unsigned POISON = 0x666;

/* A node's number, and how often the link was changed. */
using Link = unsigned long long;
static Link link(unsigned node, unsigned count) { return Link(count) << 32 | node; }
static unsigned node_of(Link link) { return unsigned(link); }
static unsigned count_of(Link link) { return unsigned(link >> 32); }

struct Node {
    unsigned value;
    std::atomic<Link> next;
};

struct Queue {
    std::atomic<Link> head, tail;
    Node nodes[16];
};

static Queue *queue;
static std::thread *threads;
static unsigned *input, *output;
static bool first_done, second_done;
static unsigned (*free_nodes)[MOST_FREE];

static int thread_number() {
    for (int i = 0; i < THREADS; i++)
        if (std::this_thread::get_id() == threads[i].get_id()) return i;
    assert(!"every thread has a number");
    return -1;
}

static unsigned new_node() {
    unsigned *mine = free_nodes[thread_number()];
    for (int i = 0; i < MOST_FREE; i++) {
        if (unsigned node = mine[i]) {
            mine[i] = 0;
            return node;
        }
    }
    assert(!"there is a free node");
    return 0;
}

static void reclaim(unsigned node) {
    unsigned *mine = free_nodes[thread_number()];
    assert(node);
    for (int i = 0; i < MOST_FREE; i++) {
        if (!mine[i]) {
            mine[i] = node;
            return;
        }
    }
    assert(!"there is room for it");
}

/* The failure order of the original is release, which is none: it means relaxed. */
static bool change(std::atomic<Link> &at, Link &expected, Link wanted) {
    return at.compare_exchange_strong(expected, wanted, release, relaxed);
}

static void enqueue(unsigned value) {
    const unsigned node = new_node();
    queue->nodes[node].value = value;
    const Link old = queue->nodes[node].next.load(relaxed);
    queue->nodes[node].next.store(link(0, count_of(old)), relaxed);
    bool done = false;
    Link tail;
    while (!done) {
        tail = queue->tail.load(acquire);
        std::atomic<Link> &last = queue->nodes[node_of(tail)].next;
        Link next = last.load(acquire);
        if (tail != queue->tail.load(relaxed)) continue;
        assert(node_of(next) != POISON);
        if (node_of(next) == 0) done = change(last, next, link(node, count_of(next) + 1));
        if (!done) {
            const unsigned follows = node_of(last.load(acquire));
            change(queue->tail, tail, link(follows, count_of(tail) + 1));
            std::this_thread::yield();
        }
    }
    change(queue->tail, tail, link(node, count_of(tail) + 1));
}

static bool dequeue(unsigned *value) {
    bool done = false;
    Link head;
    while (!done) {
        head = queue->head.load(acquire);
        Link tail = queue->tail.load(relaxed);
        const Link next = queue->nodes[node_of(head)].next.load(acquire);
        if (queue->head.load(relaxed) != head) continue;
        if (node_of(head) == node_of(tail)) {
            assert(node_of(next) != POISON);
            if (node_of(next) == 0) return false;
            change(queue->tail, tail, link(node_of(next), count_of(tail) + 1));
            std::this_thread::yield();
        } else {
            *value = queue->nodes[node_of(next)].value;
            done = change(queue->head, head, link(node_of(next), count_of(head) + 1));
            if (!done) std::this_thread::yield();
        }
    }
    reclaim(node_of(head));
    return true;
}

static void works(int *number) {
    if (*number == 0) {
        input[0] = 17;
        enqueue(input[0]);
        first_done = dequeue(&output[0]);
    } else {
        input[1] = 37;
        enqueue(input[1]);
        second_done = dequeue(&output[1]);
    }
}

int main() {
    queue = static_cast<Queue *>(std::calloc(1, sizeof *queue));
    assert(queue);
    threads = static_cast<std::thread *>(std::malloc(THREADS * sizeof *threads));
    int *numbers = static_cast<int *>(std::malloc(THREADS * sizeof *numbers));
    input = static_cast<unsigned *>(std::calloc(THREADS, sizeof *input));
    output = static_cast<unsigned *>(std::calloc(THREADS, sizeof *output));
    free_nodes = static_cast<unsigned(*)[MOST_FREE]>(std::malloc(THREADS * sizeof *free_nodes));
    for (int i = 0; i < THREADS; i++) {
        for (int j = 0; j < FIRST_FREE; j++) {
            free_nodes[i][j] = 2 + i * MOST_FREE + j;
            queue->nodes[free_nodes[i][j]].next = link(POISON, 0);
        }
    }
    queue->head = link(1, 0);
    queue->tail = link(1, 0);
    queue->nodes[1].next = link(0, 0);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        new (&threads[i]) std::thread(works, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++) threads[i].join();
    unsigned in = 0, out = 0;
    for (int i = 0; i < THREADS; i++) {
        in += input[i];
        out += output[i];
    }
    for (int i = 0; i < THREADS; i++) std::printf("input[%d] = %u\n", i, input[i]);
    for (int i = 0; i < THREADS; i++) std::printf("output[%d] = %u\n", i, output[i]);
    assert(first_done && second_done && in == out);
    std::free(numbers);
    std::free(threads);
    std::free(queue);
}
