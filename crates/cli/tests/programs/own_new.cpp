// The program has operators of its own: whatever allocates and frees ends in them, as without Fencepost.
#include <cassert>
#include <cstdlib>
#include <new>
#include <thread>

#define HIDE(pointer) __asm__ volatile("" : "+r"(pointer)::"memory")

static int taken, given;

void *operator new(std::size_t size) {
    taken++;
    return std::malloc(size);
}
void operator delete(void *block) noexcept {
    given++;
    std::free(block);
}
void operator delete(void *block, std::size_t) noexcept {
    given++;
    std::free(block);
}

struct alignas(64) Line {
    int x;
};

int main() {
    int *several = new int[4];
    HIDE(several);
    delete[] several;
    assert(taken == 1 && given == 1);
    int *perhaps = new (std::nothrow) int;
    HIDE(perhaps);
    delete perhaps;
    assert(taken == 2 && given == 2);
    std::thread([] {}).join();
    Line *line = new Line;
    assert(reinterpret_cast<std::size_t>(line) % 64 == 0);
    delete line;
    bool thrown = false;
    try {
        char *much = static_cast<char *>(operator new[](std::size_t(1) << 62, std::align_val_t(64)));
        HIDE(much);
    } catch (std::bad_alloc &) {
        thrown = true;
    }
    assert(thrown);
}
