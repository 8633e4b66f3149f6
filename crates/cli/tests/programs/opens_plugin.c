// Opens a library and has two threads race in it.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static void (*poke)(void);

static void *run(void *arg) {
    poke();
    return arg;
}

int main(void) {
    void *plugin = dlopen("./plugin.so", RTLD_NOW);
    if (!plugin) abort();
    poke = (void (*)(void))dlsym(plugin, "poke");
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    poke();
    pthread_join(thread, NULL);
    return 0;
}
