// moodycamel::ConcurrentQueue: two producers (one with a token, one without), two consumers, strings. Nothing is lost
// or comes twice, and each consumer sees the elements of one producer in order.
// With WRONG, two threads share a producer token, which the documentation forbids.
#include <concurrentqueue/concurrentqueue.h>
#include <cassert>
#include <string>
#include <thread>
#include <vector>

typedef moodycamel::ConcurrentQueue<std::string> Queue;

static std::string name(int producer, int i) { return std::string(1, 'a' + producer) + std::to_string(i); }

static void consume(Queue &queue, std::vector<std::string> &taken) {
    std::string element;
    for (int i = 0; i < 3; i++)
        if (queue.try_dequeue(element)) taken.push_back(element);
}

int main() {
    Queue queue(8);
    std::vector<std::string> taken[3];
#ifdef WRONG
    moodycamel::ProducerToken shared(queue);
    auto with_token = [&](int producer) {
        for (int i = 0; i < 2; i++) queue.enqueue(shared, name(producer, i));
    };
    std::thread first([&] { with_token(0); }), second([&] { with_token(1); });
#else
    std::thread first([&] {
        moodycamel::ProducerToken token(queue);
        for (int i = 0; i < 2; i++) assert(queue.enqueue(token, name(0, i)));
    });
    std::thread second([&] {
        for (int i = 0; i < 2; i++) assert(queue.enqueue(name(1, i)));
    });
#endif
    std::thread third([&] { consume(queue, taken[0]); }), fourth([&] { consume(queue, taken[1]); });
    for (auto *thread : {&first, &second, &third, &fourth}) thread->join();
    std::string element;
    while (queue.try_dequeue(element)) taken[2].push_back(element);
    int seen[2][2] = {};
    for (auto &list : taken) {
        int last[2] = {-1, -1};
        for (auto &word : list) {
            int producer = word[0] - 'a', i = word[1] - '0';
            seen[producer][i]++;
            assert(i > last[producer]);
            last[producer] = i;
        }
    }
    for (auto &of_one : seen)
        for (int count : of_one) assert(count == 1);
}
