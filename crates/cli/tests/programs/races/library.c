// Two threads that meet in memory through functions of libc alone: -DDO=n chooses which, and every one of them is a
// race.
#include <pthread.h>
#include <string.h>
#include <strings.h>
#include <stdlib.h>
struct pair { long a, b, c; };
union { char text[64]; struct pair pair; } shared;
char other[64] = "other";
volatile int result;
static void *writer(void *argument) {
    char *p = shared.text;
#if DO == 1
    memset(p, 7, 4);
#elif DO == 2
    memset(p, 7, 40);
#elif DO == 3
    memcpy(p, other, 24);
#elif DO == 4
    memmove(p, other, 8);
#elif DO == 5
    strcpy(p, "abc");
#elif DO == 6
    strcpy(p, other);
#elif DO == 7
    strcat(p, "abc");
#elif DO == 8
    strncpy(p, other, 8);
#elif DO == 9
    bzero(p, 16);
#elif DO == 10
    shared.pair = (struct pair){1, 2, 3};
#else
    shared.text[0] = 1;
#endif
    return argument;
}
static void *reader(void *argument) {
    char *p = shared.text;
#if DO == 11
    result = memcmp(p, other, 4) == 0;
#elif DO == 12
    result = memcmp(p, other, 40);
#elif DO == 13
    result = strlen(p);
#elif DO == 14
    result = strcmp(p, "ab");
#elif DO == 15
    result = strcmp(p, other);
#elif DO == 16
    result = strchr(p, 'x') != 0;
#elif DO == 17
    result = memchr(p, 'x', 8) != 0;
#elif DO == 18
    result = strncmp(p, "abc", 2);
#else
    result = p[0];
#endif
    return argument;
}
int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, writer, 0);
    pthread_create(&two, 0, reader, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
}
