// Two threads multiply matrices: nothing but plain accesses.
#include <pthread.h>
#include <stdlib.h>

enum { SIZE = 160 };
static double left[SIZE][SIZE], right[SIZE][SIZE], product[SIZE][SIZE];

static void *half(void *argument) {
    int first = *(int *)argument;
    for (int i = first; i < first + SIZE / 2; i++)
        for (int j = 0; j < SIZE; j++) {
            product[i][j] = 0;
            for (int k = 0; k < SIZE; k++) product[i][j] += left[i][k] * right[k][j];
        }
    return NULL;
}

int main(void) {
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) left[i][j] = i + j, right[i][j] = i - j;
    pthread_t thread;
    int lower = 0, upper = SIZE / 2;
    pthread_create(&thread, NULL, half, &upper);
    half(&lower);
    pthread_join(thread, NULL);
    double expected = 0;
    for (int k = 0; k < SIZE; k++) expected += left[SIZE - 1][k] * right[k][1];
    return product[SIZE - 1][1] != expected;
}
