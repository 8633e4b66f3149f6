/* Loops that wait for plain variables. They end ("comes", "buffered", "long", "a text of several words"), or nobody
 * is left to end them ("never", "lost"). */
#include <pthread.h>
#include <string.h>

static int flag, other, turn;
static volatile int never;
static const char *how;

static int is(const char *name) {
    return !strcmp(how, name);
}

__attribute__((noinline)) static void wait_for(int *what) {
    while (!*what)
        __asm__ volatile("" ::: "memory");
}

/* Long, and then with calls that read several words at the same place. */
static void compare(void) {
    for (int i = 0; i < 30000 && !never; i++)
        ;
    for (int i = 0; i < 10; i++)
        if (!is("a text of several words"))
            never = 1;
}

static void *setter(void *argument) {
    if (is("a text of several words")) {
        compare();
    } else if (is("never")) {
        other = 1;
    } else if (is("lost")) {
        /* Whoever stores last decides, and that may be the one who waits. */
        turn = 1;
    } else if (is("long")) {
        for (int i = 0; i < 60000 && !never; i++)
            ;
        flag = 1;
    } else {
        other = 1;
        flag = 1;
        if (is("buffered"))
            wait_for(&turn);
    }
    return argument;
}

static void *waiter(void *argument) {
    if (is("lost")) {
        turn = 0;
        wait_for(&turn);
        return argument;
    }
    if (is("a text of several words")) {
        compare();
        return argument;
    }
    wait_for(&flag);
    /* The other thread now waits while this store is in a buffer. */
    turn = 1;
    wait_for(&turn);
    return argument;
}

int main(int count, char **arguments) {
    how = count > 1 ? arguments[1] : "comes";
    pthread_t one, two;
    pthread_create(&one, 0, waiter, 0);
    pthread_create(&two, 0, setter, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 0;
}
