/* A message that nobody hands over properly: the flag is relaxed. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct message {
    int header;
    int body[4];
};

static struct message *box;
static atomic_int flag;
int last;

static void write_body(struct message *m) { m->body[2] = 42; }

static void fill(struct message *m) { write_body(m); }

static void *sender(void *unused) {
    fill(box);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return unused;
}

static int read_body(struct message *m) { return m->body[2]; }

static void *receiver(void *unused) {
    if (atomic_load_explicit(&flag, memory_order_acquire))
        last = read_body(box);
    return unused;
}

static struct message *make(void) { return calloc(1, sizeof(struct message)); }

int main(void) {
    pthread_t one, other;
    box = make();
    pthread_create(&one, 0, sender, 0);
    pthread_create(&other, 0, receiver, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    free(box);
    return 0;
}
