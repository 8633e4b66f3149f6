/* Atomic snapshots: one thread updates two registers, another wants to see both as they were at one time.

   Published: Afek, Attiya, Dolev, Gafni, Merritt, Shavit, Atomic snapshots of shared memory, JACM 1993.
   Bug: the registers are collected once. The first is read before, the second after the updates: they never were
   like that together.
   Fix (-DFIXED): they are collected until two collections in a row see the same (their section 3; each value is
   written once). Nothing here crashes, races or asserts: what is wrong is the result, and the specification says so.

   fencepost test examples/snapshot.c --spec atomic
 */
#include <fencepost.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int registers[2];

static void update(int which, int value) {
    fencepost_op_begin("update");
    atomic_store(&registers[which], value);
    fencepost_op_end();
}

static void *updater(void *unused) {
    update(0, 1);
    update(1, 1);
    return unused;
}

static void scan(int seen[2]) {
    for (int i = 0; i < 2; i++) seen[i] = atomic_load(&registers[i]);
#ifdef FIXED
    int again[2];
    for (;;) {
        for (int i = 0; i < 2; i++) again[i] = atomic_load(&registers[i]);
        if (again[0] == seen[0] && again[1] == seen[1]) return;
        for (int i = 0; i < 2; i++) seen[i] = again[i];
    }
#endif
}

static void *scanner(void *unused) {
    int seen[2];
    fencepost_op_begin("scan");
    scan(seen);
    fencepost_op_end();
    fencepost_observe("first", seen[0]);
    fencepost_observe("second", seen[1]);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, updater, NULL);
    pthread_create(&threads[1], NULL, scanner, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
