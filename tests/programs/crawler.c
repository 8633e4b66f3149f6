/* A small crawler, in place of Weblech: a queue of pages, a set of those that were seen, N workers. Page 0 links to
   pages 1 and 2, which link to page 3: whoever finds a link that is not in the set adds it to the queue. Looking and
   adding are two critical sections, so that a page is fetched twice. -DFIXED: one */
#include <assert.h>
#include <pthread.h>
#ifndef N
#define N 2
#endif
#define PAGES 4
static const int links[PAGES][2] = {{1, 2}, {3, -1}, {3, -1}, {-1, -1}};
static int queue[2 * PAGES], head, tail, seen[PAGES], fetched[PAGES];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void found(int page) {
    pthread_mutex_lock(&m);
    int is_new = !seen[page];
#ifndef FIXED
    pthread_mutex_unlock(&m);
    pthread_mutex_lock(&m);
#endif
    if (is_new) {
        seen[page] = 1;
        queue[tail++] = page;
    }
    pthread_mutex_unlock(&m);
}
static int next(void) {
    pthread_mutex_lock(&m);
    int page = head < tail ? queue[head++] : -1;
    if (page >= 0) fetched[page]++;
    pthread_mutex_unlock(&m);
    return page;
}
static void *worker(void *p) {
    for (int page; (page = next()) >= 0;)
        for (int i = 0; i < 2 && links[page][i] >= 0; i++) found(links[page][i]);
    return p;
}
int main(void) {
    pthread_t t[N];
    seen[0] = 1;
    queue[tail++] = 0;
    for (int i = 0; i < N; i++) pthread_create(&t[i], 0, worker, 0);
    for (int i = 0; i < N; i++) pthread_join(t[i], 0);
    for (int i = 0; i < PAGES; i++) assert(fetched[i] <= 1);
    return 0;
}
