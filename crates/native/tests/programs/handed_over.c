/* Blocks that one thread allocates and fills and another reads and frees. Handed over properly, by a mutex or by
 * release and acquire, that is right under every model, and so it is to free a block whose last store is still in
 * the buffer of the thread that frees it ("own"). "early" frees one that another thread reads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct node {
    long value;
    struct node *next;
};

static const char *how;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct node *list;
static _Atomic(struct node *) box;

static int is(const char *name) {
    return !strcmp(how, name);
}

static struct node *make(long value) {
    struct node *node = malloc(sizeof *node);
    node->value = value;
    node->next = 0;
    return node;
}

static void *giver(void *argument) {
    for (long i = 1; i <= 4; i++) {
        struct node *node = make(i);
        pthread_mutex_lock(&mutex);
        node->next = list;
        list = node;
        pthread_mutex_unlock(&mutex);
        node = make(i);
        struct node *old = atomic_exchange_explicit(&box, node, memory_order_acq_rel);
        if (old) {
            old->value++;
            free(old);
        }
    }
    return argument;
}

static void *taker(void *argument) {
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&mutex);
        struct node *node = list;
        if (node)
            list = node->next;
        pthread_mutex_unlock(&mutex);
        if (node) {
            node->value = 0;
            free(node);
        }
        node = atomic_exchange_explicit(&box, 0, memory_order_acq_rel);
        if (node) {
            node->value = 0;
            free(node);
        }
    }
    return argument;
}

static void *early(void *argument) {
    struct node *node = atomic_load(&box);
    if (node) {
        atomic_store(&box, 0);
        free(node);
    }
    return argument;
}

static void *reader(void *argument) {
    struct node *node = atomic_load(&box);
    return node && node->value == 7 ? argument : 0;
}

/* Each thread has blocks of its own, which it fills and frees again, and gets again. */
static void *own(void *argument) {
    for (int i = 0; i < 8; i++) {
        struct node *node = make(i);
        node->value = 3;
        free(node);
        char *text = calloc(1, 24);
        strcpy(text, "a text of its own");
        text = realloc(text, 4000);
        free(text);
    }
    return argument;
}

int main(int count, char **arguments) {
    how = count > 1 ? arguments[1] : "right";
    void *(*first)(void *) = giver, *(*second)(void *) = taker;
    if (is("early")) {
        atomic_store(&box, make(1));
        first = early;
        second = reader;
    } else if (is("own")) {
        first = second = own;
    }
    pthread_t one, two;
    pthread_create(&one, 0, first, 0);
    pthread_create(&two, 0, second, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 0;
}
