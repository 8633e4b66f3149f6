// Two threads: three messages through a flag, each a plain word and a release store.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static int data[3];
static atomic_int ready;

static void *send(void *unused) {
    for (int i = 0; i < 3; i++) {
        data[i] = i + 1;
        atomic_store_explicit(&ready, i + 1, memory_order_release);
    }
    return unused;
}

static void *receive(void *unused) {
    for (int i = 0; i < 3; i++) {
        int n = atomic_load_explicit(&ready, memory_order_acquire);
        for (int j = 0; j < n; j++) assert(data[j] == j + 1);
    }
    return unused;
}

int main(void) {
    pthread_t sender, receiver;
    pthread_create(&sender, NULL, send, NULL);
    pthread_create(&receiver, NULL, receive, NULL);
    pthread_join(sender, NULL);
    pthread_join(receiver, NULL);
}
