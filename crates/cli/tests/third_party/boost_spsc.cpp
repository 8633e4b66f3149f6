// boost::lockfree::spsc_queue between its one producer and its one consumer: what goes in comes out, in order.
// With WRONG a second thread produces, which the documentation of push forbids.
#include <boost/lockfree/spsc_queue.hpp>
#include <cassert>
#include <string>
#include <thread>
#include <vector>

static boost::lockfree::spsc_queue<std::string *, boost::lockfree::capacity<2>> queue;

static void produce(int from, int to) {
    for (int i = from; i < to; i++) {
        auto *word = new std::string(std::to_string(i));
        while (!queue.push(word)) std::this_thread::yield();
    }
}

static void consume(int count) {
    std::vector<std::string> words;
    while ((int)words.size() < count) {
        std::string *word;
        if (!queue.pop(word)) {
            std::this_thread::yield();
            continue;
        }
        words.push_back(*word);
        delete word;
    }
    for (int i = 0; i < count; i++) assert(words[i] == std::to_string(i));
}

int main() {
#ifdef WRONG
    std::thread first(produce, 0, 1), second(produce, 1, 2);
    first.join();
    second.join();
    int count = 0;
    std::string *word;
    while (queue.pop(word)) count++;
    assert(count == 2);
#else
    std::thread producer(produce, 0, 4), consumer(consume, 4);
    producer.join();
    consumer.join();
#endif
    assert(queue.empty());
}
