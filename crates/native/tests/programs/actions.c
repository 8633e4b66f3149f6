// Changes what the kernel keeps for the process, as its argument says, and checks first that nobody has done so before.
// Two threads race for an atomic, so that executions differ from each other, but not from one way of restarting to the
// other.
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int x;
static char before_main[4096] __attribute__((aligned(4096)));
static volatile sig_atomic_t handled;
static int early;

__attribute__((constructor)) static void open_early(void) { early = open("/dev/zero", O_RDONLY); }

static void handler(int signal) { handled++; }

static void *other(void *unused) {
  atomic_fetch_add(&x, 1);
  atomic_fetch_add(&x, 1);
  return 0;
}

static void files(void) {
  int file = open("/dev/null", O_RDONLY);
  assert(file == early + 1);
  // One that a look at the lowest numbers does not find.
  assert(dup2(file, 40) == 40);
  close(file);
  assert(fcntl(41, F_GETFD) == -1);
  assert(fcntl(40, F_DUPFD, 41) == 41);
  FILE *stream = fopen("/dev/zero", "r");
  assert(stream && fileno(stream) == file);
}

static void standard_files(void) {
  assert(fcntl(0, F_GETFD) == 0 && fcntl(1, F_GETFD) == 0);
  assert(!(fcntl(0, F_GETFL) & O_NONBLOCK));
  printf("before\n");
  fflush(stdout);
  fcntl(0, F_SETFL, O_NONBLOCK);
  close(0);
  int null = open("/dev/null", O_WRONLY);
  assert(null == 0);
  dup2(null, 1);
  printf("to nobody\n");
  fflush(stdout);
  // Whatever there may be: what is not the program's stays.
  for (int i = early + 1; i < 300; i++)
    close(i);
}

static void file_from_before_main(void) {
  char byte;
  assert(read(early, &byte, 1) == 1);
}

static void closes_a_file_from_before_main(void) {
  assert(fcntl(early, F_GETFD) == 0);
  close(early);
}

static void *map(size_t length) {
  return mmap(0, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void mappings(void) {
  char *memory = map(1 << 20), *moving = map(8192);
  memset(memory, 1, 1 << 20);
  munmap(memory + 4096, 4096);
  mprotect(memory + 8192, 4096, PROT_NONE);
  assert(mmap(memory + 16384, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory + 16384);
  moving = mremap(moving, 8192, 1 << 20, MREMAP_MAYMOVE);
  moving[(1 << 20) - 1] = 1;
  printf("%p %p\n", (void *)memory, (void *)moving);
}

// Stacks of threads must not move what the program maps, however many there are.
static void mappings_between_threads(void) {
  pthread_t threads[12];
  void *memory[12];
  for (int i = 0; i < 12; i++) {
    pthread_create(&threads[i], 0, other, 0);
    printf("%p ", memory[i] = map(8192));
  }
  for (int i = 0; i < 12; i++)
    pthread_join(threads[i], 0);
}

static void protects_its_data(void) {
  before_main[0] = 1;
  assert(mprotect(before_main, 4096, PROT_READ) == 0);
}

static void maps_over_its_data(void) {
  assert(before_main[1] == 0);
  assert(mmap(before_main, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == before_main);
  before_main[1] = 1;
}

static void moves_the_break(void) { assert(sbrk(4096) != (void *)-1); }

static void forks(void) {
  int ends[2];
  assert(pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    assert(write(ends[1], "x", 1) == 1);
    _exit(3);
  }
  int status;
  char byte;
  assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
  assert(read(ends[0], &byte, 1) == 1 && byte == 'x');
}

static int flushed;
static void at_exit(void) { printf("at exit %d\n", ++flushed); }

static void forks_a_child_that_exits(void) {
  atexit(at_exit);
  pid_t child = fork();
  if (child == 0)
    exit(0);
  waitpid(child, 0, 0);
}

static void vforks(void) {
  pid_t child = vfork();
  if (child == 0)
    _exit(0);
  int status;
  assert(waitpid(child, &status, 0) == child && status == 0);
}

static void spawns(void) {
  pid_t child;
  char *arguments[] = {"true", 0};
  int status;
  assert(posix_spawnp(&child, "true", 0, 0, arguments, environ) == 0);
  assert(waitpid(child, &status, 0) == child && status == 0);
}

static void runs_a_command(void) {
  assert(system("test -z \"$LD_PRELOAD\" && test -z \"$FENCEPOST_MAILBOX\"") == 0);
}

static void becomes_another(void) { execlp("true", "true", (char *)0); }
static void becomes_one_that_fails(void) { execlp("false", "false", (char *)0); }
static void becomes_nothing(void) { assert(execl("/nonexistent", "x", (char *)0) == -1); }

static void handlers(void) {
  struct sigaction old, action = {.sa_handler = handler};
  assert(sigaction(SIGUSR1, 0, &old) == 0 && old.sa_handler == SIG_DFL);
  sigaction(SIGUSR1, &action, 0);
  assert(signal(SIGUSR2, SIG_IGN) == SIG_DFL);
  raise(SIGUSR1);
  kill(getpid(), SIGUSR2);
  assert(handled == 1);
}

static void blocks_signals(void) {
  sigset_t set, old, pending;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  assert(sigprocmask(SIG_BLOCK, &set, &old) == 0 && !sigismember(&old, SIGUSR1));
  sigpending(&pending);
  assert(!sigismember(&pending, SIGUSR1));
  raise(SIGUSR1);
  sigpending(&pending);
  assert(sigismember(&pending, SIGUSR1));
}

static void quit_in_handler(int signal) { _exit(0); }

static void ends_in_a_handler(void) {
  signal(SIGUSR1, quit_in_handler);
  raise(SIGUSR1);
  assert(0);
}

static void signal_stack(void) {
  static char memory[65536];
  stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory}, old;
  assert(sigaltstack(&stack, &old) == 0 && old.ss_sp != memory);
}

static void timers(void) {
  struct itimerval old, timer = {.it_value = {.tv_usec = 1}};
  assert(getitimer(ITIMER_REAL, &old) == 0 && old.it_value.tv_sec == 0);
  assert(alarm(1000) == 0);
  signal(SIGVTALRM, SIG_IGN);
  setitimer(ITIMER_VIRTUAL, &timer, 0);
}

static void a_posix_timer(void) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_NONE};
  assert(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  printf("%ld\n", (long)timer);
}

static void directory(void) {
  char here[4096];
  assert(getcwd(here, sizeof here) && strcmp(here, "/"));
  assert(chdir("/") == 0);
}

static void file_mask(void) { printf("%o\n", umask(0123)); }

static void environment(void) {
  assert(!getenv("ACTION"));
  setenv("ACTION", "done", 1);
  unsetenv("PATH");
  clearenv();
}

static void limits(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  assert(limit.rlim_cur != 77);
  limit.rlim_cur = limit.rlim_max = 77;
  assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void sockets(void) {
  int pair[2], ends[2];
  char byte = 0;
  assert(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pair[0] == early + 1);
  assert(pipe(ends) == 0 && write(ends[1], "p", 1) == 1 && read(ends[0], &byte, 1) == 1);
  assert(send(pair[0], "s", 1, 0) == 1 && recv(pair[1], &byte, 1, 0) == 1);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  assert(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 1) == 0);
}

static void events(void) {
  int counter = eventfd(0, 0), set = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = counter}, got;
  assert(counter == early + 1 && epoll_ctl(set, EPOLL_CTL_ADD, counter, &event) == 0);
  assert(epoll_wait(set, &got, 1, 0) == 0);
  eventfd_write(counter, 3);
  assert(epoll_wait(set, &got, 1, 0) == 1);
}

static void loads_a_library(void) { assert(dlopen("libm.so.6", RTLD_NOW)); }
static void names_itself(void) {
  char name[16];
  assert(pthread_getname_np(pthread_self(), name, sizeof name) == 0 && strcmp(name, "action"));
  assert(pthread_setname_np(pthread_self(), "action") == 0);
}
static void process_settings(void) { prctl(PR_SET_TIMERSLACK, 12345, 0, 0, 0); }
static void a_bare_system_call(void) { syscall(SYS_setpriority, PRIO_PROCESS, 0, 1); }

// Not seen by anybody, but noticed afterwards.
static long unseen(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
static void an_unseen_mapping(void) {
  assert(unseen(SYS_mmap, 0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) > 0);
}
static void an_unseen_mask(void) { unseen(SYS_umask, 0123, 0, 0, 0, 0, 0); }

// Not noticed either, but executions in place are not what they are alone.
static void an_unseen_setting(void) {
  long slack = prctl(PR_GET_NAME, before_main), now = unseen(SYS_prctl, PR_GET_TIMERSLACK, 0, 0, 0, 0, 0);
  (void)slack;
  unseen(SYS_prctl, PR_SET_TIMERSLACK, 60000, 0, 0, 0, 0);
  if (now == 60000)
    atomic_store(&x, 7);
}

// Nobody can say what comes of this, however the program is restarted.
static void by_chance(void) {
  unsigned char bytes[8];
  // Another number whenever it is read.
  int file = open("/proc/sys/kernel/random/uuid", O_RDONLY);
  assert(read(file, bytes, sizeof bytes) == sizeof bytes);
  for (int i = 0; i < 8; i++)
    atomic_fetch_add(&x, bytes[i]);
  atomic_store(&x, 7);
}

#define ACTION(name) {#name, name}
static const struct {
  const char *name;
  void (*act)(void);
} actions[] = {
    ACTION(files), ACTION(standard_files), ACTION(file_from_before_main), ACTION(closes_a_file_from_before_main),
    ACTION(mappings), ACTION(mappings_between_threads), ACTION(protects_its_data), ACTION(maps_over_its_data),
    ACTION(moves_the_break), ACTION(forks), ACTION(forks_a_child_that_exits), ACTION(vforks), ACTION(spawns),
    ACTION(runs_a_command), ACTION(becomes_another), ACTION(becomes_one_that_fails), ACTION(becomes_nothing),
    ACTION(handlers), ACTION(blocks_signals), ACTION(ends_in_a_handler), ACTION(signal_stack), ACTION(timers),
    ACTION(a_posix_timer), ACTION(directory), ACTION(file_mask), ACTION(environment), ACTION(limits), ACTION(sockets),
    ACTION(events), ACTION(loads_a_library), ACTION(names_itself), ACTION(process_settings),
    ACTION(a_bare_system_call), ACTION(an_unseen_mapping), ACTION(an_unseen_mask), ACTION(an_unseen_setting),
    ACTION(by_chance),
};

int main(int count, char **arguments) {
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
  int seen = atomic_load(&x);
  // Only some executions do it.
  int does = seen != 2 || !strncmp(arguments[1], "an_unseen", 9) || !strcmp(arguments[1], "by_chance");
  for (unsigned i = 0; does && i < sizeof actions / sizeof *actions; i++)
    if (!strcmp(actions[i].name, arguments[1]))
      actions[i].act();
  pthread_join(thread, 0);
  printf("%d %d\n", seen, atomic_load(&x));
  fflush(stdout);
  return 0;
}
