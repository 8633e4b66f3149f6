// The standard library takes several locks by trying, and gives back what it has when one is taken.
// fencepost check: pass
// fencepost check --model pso: pass
#include <cassert>
#include <mutex>
#include <thread>
static int x;
static std::mutex m, n;
int main() {
    std::thread a([] { std::scoped_lock both(m, n); x++; });
    std::thread b([] { std::scoped_lock both(n, m); x++; });
    a.join();
    b.join();
    assert(x == 2);
}
