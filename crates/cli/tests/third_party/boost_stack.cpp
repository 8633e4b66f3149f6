// boost::lockfree::stack: two threads push and pop. Nothing is lost or comes twice.
// With ONE, one thread pushes and another pops what is there, once: no node is used twice.
// With WRONG, one of the threads uses unsynchronized_push, which is for a stack that no other thread has.
#include <boost/lockfree/stack.hpp>
#include <atomic>
#include <cassert>
#include <thread>

#ifdef FIXED
static boost::lockfree::stack<int, boost::lockfree::capacity<4>> stack;
#else
static boost::lockfree::stack<int> stack(4);
#endif
static std::atomic<int> seen[4];

static void push(int element) {
#ifdef WRONG
    if (element >= 2) {
        stack.unsynchronized_push(element);
        return;
    }
#endif
    while (!stack.push(element)) std::this_thread::yield();
}

static void pop() {
    int element;
    if (stack.pop(element)) seen[element]++;
}

int main() {
#ifdef ONE
    std::thread first([] { push(0); push(1); }), second([] { pop(); });
#else
    std::thread first([] { push(0); pop(); push(1); }), second([] { push(2); pop(); push(3); });
#endif
    first.join();
    second.join();
    for (int i = 0; i < 4; i++) pop();
    int all = 0;
    for (auto &count : seen) {
        assert(count <= 1);
        all += count;
    }
#ifdef ONE
    assert(all == 2);
#else
    assert(all == 4);
#endif
    assert(stack.empty());
}
