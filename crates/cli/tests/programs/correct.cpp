// What C++ programs use, all of it right: nothing may be found.
#include <condition_variable>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::mutex mutex;
static std::condition_variable changed;
static std::vector<std::string> words;
static thread_local std::string name = "nobody";

struct Farewell {
    ~Farewell() {
        std::lock_guard<std::mutex> hold(mutex);
        words.push_back("bye " + name);
    }
};

static int risky(int n) {
    if (n > 1) throw std::runtime_error("too many");
    return n;
}

int main() {
    std::thread listener([] {
        name = "listener";
        thread_local Farewell farewell;
        (void)farewell;
        std::unique_lock<std::mutex> hold(mutex);
        changed.wait(hold, [] { return !words.empty(); });
    });
    std::thread speaker([] {
        std::lock_guard<std::mutex> hold(mutex);
        words.push_back("hello");
        changed.notify_all();
    });
    auto answer = std::async(std::launch::async, [] {
        try {
            return risky(2);
        } catch (const std::exception &) {
            return -1;
        }
    });
    listener.join();
    speaker.join();
    if (answer.get() != -1) return 1;
    std::cout << words.size() << std::endl;
    return words.size() == 2 && words[1] == "bye listener" ? 0 : 2;
}
