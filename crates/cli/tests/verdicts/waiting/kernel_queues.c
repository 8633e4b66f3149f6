// Who receives a message, or takes a semaphore of System V, waits without stopping the others, and knows what the
// sender knew. Where a system has no such queues there is nothing to see. -DNOBODY: nobody gives the semaphore, a
// deadlock.
// fencepost test --executions 200: pass
// fencepost test --model tso --executions 200: pass
// fencepost test --model pso --executions 200: pass
// fencepost check: incomplete | pass
// fencepost check --model tso: incomplete | pass
// fencepost test --executions 20 [CFLAGS=-DNOBODY]: fail deadlock | pass
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <time.h>
#include <unistd.h>

static int semaphores, messages, data, more, most;
static mqd_t queue;

struct message {
    long kind;
    char text;
};

static void *receiver(void *argument) {
    struct sembuf take = {0, -1, 0};
    struct message message;
    char text[16];
    unsigned priority;
    assert(semop(semaphores, &take, 1) == 0);
    assert(data == 1);
    assert(msgrcv(messages, &message, 1, 0, 0) == 1 && message.text == 'm');
    assert(more == 2);
    assert(mq_receive(queue, text, sizeof text, &priority) == 1 && text[0] == 'q' && priority == 7);
    assert(most == 3);
    return argument;
}

int main(void) {
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 16};
    struct sembuf give = {0, 1, 0}, try = {0, -1, IPC_NOWAIT};
    struct message message = {1, 'm'};
    struct timespec past = {0, 0};
    char name[40], text[16];
    pthread_t thread;
    snprintf(name, sizeof name, "/fencepost-%d", getpid());
    queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attributes);
    if (queue == (mqd_t)-1)
        return 0;
    mq_unlink(name);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    messages = msgget(IPC_PRIVATE, 0600);
    if (semaphores >= 0 && messages >= 0) {
        assert(semop(semaphores, &try, 1) == -1 && errno == EAGAIN);
        pthread_create(&thread, 0, receiver, 0);
#ifndef NOBODY
        data = 1;
        assert(semop(semaphores, &give, 1) == 0);
#endif
        more = 2;
        assert(msgsnd(messages, &message, 1, 0) == 0);
        most = 3;
        assert(mq_send(queue, "q", 1, 7) == 0);
        pthread_join(thread, 0);
        assert(mq_timedreceive(queue, text, sizeof text, 0, &past) == -1 && errno == ETIMEDOUT);
    }
    semctl(semaphores, 0, IPC_RMID);
    msgctl(messages, IPC_RMID, 0);
    mq_close(queue);
    return 0;
}
