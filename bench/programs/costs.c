// One kind of operation, again and again: KIND THREADS COUNT.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 1024 };

static const char *kind;
static long count;
static atomic_long shared, words[WORDS];
long plain[2][WORDS];
long sink[2];

#define EACH(name, body) \
    if (strcmp(kind, name) == 0) \
        for (long i = 0; i < count; i++) { body; }

static void *work(void *argument) {
    long *own = plain[(long)argument];
    long sum = 0;
    EACH("load-relaxed", sum += atomic_load_explicit(&shared, memory_order_relaxed))
    EACH("load-seq_cst", sum += atomic_load_explicit(&shared, memory_order_seq_cst))
    EACH("store-relaxed", atomic_store_explicit(&shared, i, memory_order_relaxed))
    EACH("store-seq_cst", atomic_store_explicit(&shared, i, memory_order_seq_cst))
    EACH("add-relaxed", atomic_fetch_add_explicit(&shared, 1, memory_order_relaxed))
    EACH("add-seq_cst", atomic_fetch_add_explicit(&shared, 1, memory_order_seq_cst))
    EACH("read", sum += own[i % WORDS])
    EACH("write", own[i % WORDS] = i)
    EACH("mix", switch (i & 3) {
        case 0: sum += atomic_load_explicit(&words[i / 4 % WORDS], memory_order_relaxed); break;
        case 1: own[i / 4 % WORDS] = i; break;
        case 2: atomic_store_explicit(&words[(i + 7) / 4 % WORDS], i, memory_order_relaxed); break;
        default: atomic_fetch_add_explicit(&shared, 1, memory_order_relaxed);
    })
    sink[(long)argument] = sum;
    return NULL;
}

int main(int arguments, char **values) {
    if (arguments != 4)
        return 2;
    kind = values[1];
    count = atol(values[3]);
    pthread_t other;
    int two = atoi(values[2]) == 2;
    if (two)
        pthread_create(&other, NULL, work, (void *)1);
    work((void *)0);
    if (two)
        pthread_join(other, NULL);
    return 0;
}
