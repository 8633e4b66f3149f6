// Two threads sieve primes, each its own half: single bytes, long strides.
#include <pthread.h>
#include <stddef.h>

enum { LIMIT = 400000, ROOT = 633 };
static unsigned char composite[LIMIT];
static int counts[2];

static int is_prime(int n) {
    for (int d = 2; d * d <= n; d++)
        if (n % d == 0) return 0;
    return 1;
}

static void *half(void *argument) {
    int which = *(int *)argument, from = which * (LIMIT / 2), to = from + LIMIT / 2;
    for (int p = 2; p < ROOT; p++) {
        if (!is_prime(p)) continue;
        int first = (from + p - 1) / p * p;
        for (int n = first < 2 * p ? 2 * p : first; n < to; n += p) composite[n] = 1;
    }
    int count = 0;
    for (int n = from < 2 ? 2 : from; n < to; n++) count += !composite[n];
    counts[which] = count;
    return NULL;
}

int main(void) {
    pthread_t thread;
    int lower = 0, upper = 1;
    pthread_create(&thread, NULL, half, &upper);
    half(&lower);
    pthread_join(thread, NULL);
    return counts[0] + counts[1] != 33860;
}
