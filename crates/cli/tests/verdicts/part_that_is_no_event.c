// Of the bytes of `word` some are events to an exploration under a hardware model (the race detector has forgotten who
// accessed them) and one is not. What is stored to that one alone is not overwritten by what the whole word was.
// fencepost check --model sc: pass, exactly 1 executions
// fencepost check --model tso: pass, exactly 1 executions
// fencepost check --model pso: pass, exactly 1 executions
// fencepost check: pass, exactly 1 executions
// fencepost test --model tso: pass
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

typedef uint8_t part1 __attribute__((may_alias));
typedef uint16_t part2 __attribute__((may_alias));
typedef uint32_t part4 __attribute__((may_alias));
static uint64_t word;

__attribute__((noinline)) static uint64_t fold(void) { return word * 0x9e3779b97f4a7c15u >> 59; }

static void *nothing(void *argument) { return argument; }

int main(void) {
    pthread_t first, second;
    word = 0x0101010101010101u;
    pthread_create(&first, NULL, nothing, NULL);
    pthread_create(&second, NULL, nothing, NULL);
    uint64_t before = fold();
    *(part4 *)&word = 1;
    *((part2 *)&word + 1) = 2;
    *((part1 *)&word + 4) = 3;
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    uint64_t after = word;
    write(1, before == 12 ? "\n" : "?\n", before == 12 ? 1 : 2);
    assert(after == 0x0101010300020001u);
    return 0;
}
