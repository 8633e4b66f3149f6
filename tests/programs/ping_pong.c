/* A player who leaves (PingPong of the MCR papers): one thread sets the player to null while others, having looked,
   play with it. -DN: players; -DFIXED: who has looked keeps what it saw */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#ifndef N
#define N 2
#endif
static int score;
static int *player = &score;
static void *play(void *p) {
#ifdef FIXED
    int *mine = *(int *volatile *)&player;
    if (mine) assert(mine != NULL);
#else
    if (*(int *volatile *)&player) assert(*(int *volatile *)&player != NULL);
#endif
    return p;
}
static void *leave(void *p) { *(int *volatile *)&player = NULL; return p; }
int main(void) {
    pthread_t t[N], l;
    for (int i = 0; i < N; i++) pthread_create(&t[i], 0, play, 0);
    pthread_create(&l, 0, leave, 0);
    for (int i = 0; i < N; i++) pthread_join(t[i], 0);
    pthread_join(l, 0);
    return 0;
}
