// Nobody catches what the thread throws.
#include <stdexcept>
#include <thread>

int main() {
    std::thread thread([] { throw std::runtime_error("lost"); });
    thread.join();
    return 0;
}
