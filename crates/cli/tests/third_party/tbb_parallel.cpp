// tbb::parallel_for and parallel_reduce: tasks run by the library's own threads, which are not instrumented.
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_arena.h>
#include <cassert>
#include <vector>

int main() {
    tbb::task_arena arena(2);
    std::vector<int> squares(8);
    int sum = 0;
    arena.execute([&] {
        tbb::parallel_for(0, 8, [&](int i) { squares[i] = i * i; });
        sum = tbb::parallel_reduce(
            tbb::blocked_range<int>(0, 8), 0,
            [&](const tbb::blocked_range<int> &part, int sum) {
                for (int i = part.begin(); i < part.end(); i++) sum += squares[i];
                return sum;
            },
            [](int a, int b) { return a + b; });
    });
    assert(sum == 140);
}
