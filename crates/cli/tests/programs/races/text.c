// A text that is copied before a flag is set. PSO lets the flag overtake it.
#include <assert.h>
#include <pthread.h>
#include <string.h>
static char message[16];
static int flag;
static void *sender(void *argument) {
    strcpy(message, "hello");
    flag = 1;
    return argument;
}
static void *receiver(void *argument) {
    if (flag) assert(memcmp(message, "hello", 6) == 0);
    return argument;
}
int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, sender, 0);
    pthread_create(&two, 0, receiver, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
}
