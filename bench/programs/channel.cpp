// Two producers, one consumer, a bounded queue of strings with two condition variables.
#include <cassert>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

struct Channel {
    std::mutex mutex;
    std::condition_variable not_full, not_empty;
    std::deque<std::string> words;

    void send(std::string word) {
        std::unique_lock<std::mutex> hold(mutex);
        not_full.wait(hold, [&] { return words.size() < 2; });
        words.push_back(std::move(word));
        not_empty.notify_one();
    }
    std::string receive() {
        std::unique_lock<std::mutex> hold(mutex);
        not_empty.wait(hold, [&] { return !words.empty(); });
        std::string word = std::move(words.front());
        words.pop_front();
        not_full.notify_one();
        return word;
    }
};

int main() {
    Channel channel;
    auto produce = [&](std::string name) {
        channel.send(name + ", the first of the words");
        channel.send(name + ", the second of the words");
    };
    std::thread first(produce, "left"), second(produce, "right");
    std::string all;
    for (int i = 0; i < 4; i++) all += channel.receive();
    first.join();
    second.join();
    assert(channel.words.empty() && all.find("right, the second") != std::string::npos);
}
