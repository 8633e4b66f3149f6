// liburcu's wait-free concurrent queue, all of it from its headers: two threads enqueue, one dequeues.
#define _LGPL_SOURCE
#include <urcu/wfcqueue.h>
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static struct cds_wfcq_head head;
static struct cds_wfcq_tail tail;

struct element {
    struct cds_wfcq_node node;
    int value;
};

static void *enqueue(void *value) {
    for (int i = 0; i < 2; i++) {
        struct element *element = malloc(sizeof *element);
        cds_wfcq_node_init(&element->node);
        element->value = *(int *)value + i;
        cds_wfcq_enqueue(&head, &tail, &element->node);
    }
    return NULL;
}

static int dequeue(int seen[4]) {
    struct cds_wfcq_node *node = cds_wfcq_dequeue_blocking(&head, &tail);
    if (node == NULL) return 0;
    struct element *element = caa_container_of(node, struct element, node);
    seen[element->value]++;
    free(element);
    return 1;
}

int main(void) {
    pthread_t threads[2];
    int values[2] = {0, 2}, seen[4] = {0};
    cds_wfcq_init(&head, &tail);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, enqueue, &values[i]);
    dequeue(seen);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    while (dequeue(seen)) {
    }
    for (int i = 0; i < 4; i++) assert(seen[i] == 1);
    cds_wfcq_destroy(&head, &tail);
}
