/* Races of several kinds, one by the number that is given. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(16) char bytes[64];
static _Atomic long word;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t met;
static char *block;
static int kind;
long sink[2];

static void *first(void *unused) {
    switch (kind) {
    case 0: atomic_store(&word, 1); break;                                /* atomic against plain */
    case 1: memset(bytes, 1, 32); break;                                  /* a range against a byte */
    case 2: *(long *)(bytes + 3) = 5; break;                              /* across two words */
    case 3: bytes[4] = 1; break;                                          /* neighbours: no race */
    case 4: bytes[0] = 1; pthread_barrier_wait(&met); break;              /* ordered: no race */
    case 5: sink[0] = bytes[1]; break;                                       /* two reads: no race */
    case 6: block[1] = 2; pthread_mutex_lock(&one); pthread_mutex_unlock(&one); break; /* free */
    case 7: pthread_mutex_lock(&one); bytes[8] = 1; pthread_mutex_unlock(&one); break; /* two locks */
    }
    return unused;
}

static void *second(void *unused) {
    char copy[64];
    switch (kind) {
    case 0: sink[1] = *(long *)&word; break;
    case 1: sink[1] = bytes[31]; break;
    case 2: sink[1] = bytes[8]; break;
    case 3: bytes[5] = 1; break;
    case 4: pthread_barrier_wait(&met); bytes[0] = 2; break;
    case 5: memcpy(copy, bytes, 16); sink[1] = copy[0]; break;
    case 6: pthread_mutex_lock(&other); pthread_mutex_unlock(&other); free(block); break;
    case 7: pthread_mutex_lock(&other); bytes[8] = 2; pthread_mutex_unlock(&other); break;
    }
    return unused;
}

int main(int count, char **arguments) {
    pthread_t a, b;
    kind = count > 1 ? atoi(arguments[1]) : 0;
    block = malloc(8);
    pthread_barrier_init(&met, 0, 2);
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
