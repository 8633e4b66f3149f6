// One thread changes the second byte of a text, the other one hands it to a function of the C library without a lock.
// The argument says to which one. With the argument "pipe" and its like the library itself orders the two, and nothing
// is wrong.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static char text[64] = "12 hello", other[64] = "12 hello";
static volatile size_t few = 8;
static volatile long result;
static int ends[2];
static const char *what;

static int is(const char *name) { return !strcmp(what, name); }

static void *writer(void *unused) {
  text[1] = '3';
  if (is("pipe") || is("epoll") || is("readv"))
    write(ends[1], "x", 1);
  if (is("socket"))
    send(ends[1], "x", 1, 0);
  if (is("event"))
    eventfd_write(ends[0], 1);
  if (is("close"))
    close(ends[1]);
  return 0;
}

static void use(void) {
  struct epoll_event event = {.events = EPOLLIN};
  struct iovec piece = {text, few};
  eventfd_t number;
  char byte;
  if (is("strlen")) result = strlen(text);
  if (is("strcmp")) result = strcmp(text, other);
  if (is("strchr")) result = strchr(text, 'h') != 0;
  if (is("strcpy")) strcpy(other, text);
  if (is("strcat")) strcat(other, text);
  if (is("strncpy")) strncpy(text, other, few);
  if (is("memcmp")) result = memcmp(text, other, few);
  if (is("memchr")) result = memchr(text, 'h', few) != 0;
  if (is("mempcpy")) mempcpy(text, other, few);
  if (is("strtol")) result = strtol(text, 0, 10);
  if (is("puts")) puts(text);
  if (is("fwrite")) fwrite(text, 1, few, stdout);
  if (is("printf")) printf("%*d %f %Lf %.3s %d %d %s\n", 3, 4, 1.5, 2.5L, "abcdef", 1, 2, text);
  if (is("format")) printf(text);
  if (is("snprintf")) snprintf(text, sizeof text, "%d of %s", 12, other);
  if (is("write")) result = write(ends[1], text, few);
  if (is("writev")) result = writev(ends[1], &piece, 1);
  if (is("clock")) clock_gettime(CLOCK_MONOTONIC, (struct timespec *)text);
  // Ordered.
  if (is("pipe") || is("close")) read(ends[0], &byte, 1), result = text[1];
  if (is("socket")) recv(ends[0], &byte, 1, 0), result = text[1];
  if (is("event")) eventfd_read(ends[0], &number), result = text[1];
  if (is("readv")) piece = (struct iovec){&byte, 1}, readv(ends[0], &piece, 1), result = text[1];
  if (is("epoll")) {
    int set = epoll_create1(0);
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
    epoll_wait(set, &event, 1, -1);
    result = text[1];
  }
  // Far from what is changed.
  if (is("elsewhere")) result = strlen(text + 2) + memcmp(text + 2, other + 2, few), printf("%.1s", text);
}

int main(int count, char **arguments) {
  what = arguments[1];
  pthread_t thread;
  if (is("socket"))
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  else if (is("event"))
    ends[0] = eventfd(0, 0);
  else
    pipe(ends);
  pthread_create(&thread, 0, writer, 0);
  use();
  pthread_join(thread, 0);
  return 0;
}
