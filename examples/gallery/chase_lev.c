/* The Chase-Lev work-stealing deque: its owner pushes and takes at the bottom, thieves steal at the top; a full
   buffer is replaced by one of twice the size.

   Published: Chase and Lev, Dynamic circular work-stealing deque, SPAA 2005; for C11: Lê, Pop, Cohen, Zappa
   Nardelli, Correct and efficient work-stealing for weak memory models, PPoPP 2013, figure 1.
   Bug: the one that CDSChecker found in the published C11 code (Norris and Demsky, OOPSLA 2013): `grow` publishes
   the new buffer with relaxed order, so that a thief can have the buffer without its contents.
   Fix (-DFIXED): the new buffer is published with release and loaded with acquire order.
   Fencepost says: data race on the new buffer's size, or an item that nobody pushed. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#ifdef FIXED
#define PUBLISH memory_order_release
#define CONSUME memory_order_acquire
#else
#define PUBLISH memory_order_relaxed
#define CONSUME memory_order_relaxed
#endif

#define ROUNDS 8 /* the buffer grows once in each, and that is when the mistake shows */
#define ITEMS 12
#define FIRST 4 /* so many are there before the thieves come, and fill the buffer */
#define THIEVES 3
#define SHARE 4 /* what each of them wants */
#define EMPTY (-1)
#define ABORT (-2)

struct buffer {
    size_t size;
    atomic_int items[];
};

static atomic_size_t top, bottom;
static _Atomic(struct buffer *) current;
static struct buffer *replaced[ITEMS];
static int replaced_count;

static struct buffer *new_buffer(size_t size) {
    struct buffer *b = calloc(1, sizeof *b + size * sizeof(atomic_int));
    b->size = size;
    return b;
}

static struct buffer *grow(struct buffer *old, size_t t, size_t b) {
    struct buffer *grown = new_buffer(2 * old->size);
    for (size_t i = t; i < b; i++) {
        int item = atomic_load_explicit(&old->items[i % old->size], memory_order_relaxed);
        atomic_store_explicit(&grown->items[i % grown->size], item, memory_order_relaxed);
    }
    replaced[replaced_count++] = old; /* a thief may still be at it */
    atomic_store_explicit(&current, grown, PUBLISH);
    return grown;
}

static void push(int item) {
    size_t b = atomic_load_explicit(&bottom, memory_order_relaxed);
    size_t t = atomic_load_explicit(&top, memory_order_acquire);
    struct buffer *a = atomic_load_explicit(&current, memory_order_relaxed);
    if (b - t > a->size - 1) a = grow(a, t, b);
    atomic_store_explicit(&a->items[b % a->size], item, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
}

static int take(void) {
    size_t b = atomic_load_explicit(&bottom, memory_order_relaxed) - 1;
    struct buffer *a = atomic_load_explicit(&current, memory_order_relaxed);
    atomic_store_explicit(&bottom, b, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    size_t t = atomic_load_explicit(&top, memory_order_relaxed);
    int item = EMPTY;
    if ((ptrdiff_t)(b - t) >= 0) {
        item = atomic_load_explicit(&a->items[b % a->size], memory_order_relaxed);
        if (t != b) return item;
        if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst, memory_order_relaxed))
            item = EMPTY;
    }
    atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
    return item;
}

static int steal(void) {
    size_t t = atomic_load_explicit(&top, memory_order_acquire);
    atomic_thread_fence(memory_order_seq_cst);
    size_t b = atomic_load_explicit(&bottom, memory_order_acquire);
    if ((ptrdiff_t)(b - t) <= 0) return EMPTY;
    struct buffer *a = atomic_load_explicit(&current, CONSUME);
    int item = atomic_load_explicit(&a->items[t % a->size], memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst, memory_order_relaxed))
        return ABORT;
    return item;
}

static int stolen[THIEVES][SHARE], times_seen[ITEMS + 1];

static void *thief(void *loot) {
    for (int i = 0; i < SHARE; i++) {
        int item;
        while ((item = steal()) < 0) sched_yield();
        ((int *)loot)[i] = item;
    }
    return NULL;
}

static void *owner(void *unused) {
    for (int item = FIRST + 1; item <= ITEMS; item++) push(item);
    return unused;
}

static void play(void) {
    pthread_t threads[THIEVES + 1];
    atomic_store_explicit(&top, 0, memory_order_relaxed);
    atomic_store_explicit(&bottom, 0, memory_order_relaxed);
    atomic_store_explicit(&current, new_buffer(FIRST), memory_order_relaxed);
    for (int item = 1; item <= FIRST; item++) push(item);
    pthread_create(&threads[THIEVES], NULL, owner, NULL);
    for (int i = 0; i < THIEVES; i++) pthread_create(&threads[i], NULL, thief, stolen[i]);
    for (int i = 0; i <= THIEVES; i++) pthread_join(threads[i], NULL);
    for (int item = 1; item <= ITEMS; item++) times_seen[item] = 0;
    for (int item; (item = take()) >= 0;) times_seen[item]++;
    for (int i = 0; i < THIEVES; i++)
        for (int j = 0; j < SHARE; j++) times_seen[stolen[i][j]]++;
    for (int item = 1; item <= ITEMS; item++) assert(times_seen[item] == 1);
    while (replaced_count > 0) free(replaced[--replaced_count]);
    free(atomic_load(&current));
}

int main(void) {
    for (int round = 0; round < ROUNDS; round++) play();
    return 0;
}
