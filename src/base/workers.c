/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/workers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A worker has one index that it is at and one that it finds when it is done with that, so that it never waits
 * for its caller. */
enum { AHEAD = 2 };

struct worker {
    pid_t pid; /* 0: none */
    int socket;
    int queued;
    int64_t index[AHEAD];
};

/* Supervision looks around so often. */
enum { TICK_MS = 100 };

struct crew {
    const struct workers_task *task;
    int signals;        /* a descriptor that tells of SIGINT; -1: nobody asks */
    volatile bool *end; /* in memory shared with the workers: begin nothing more */
    int workers;
    struct worker worker[WORKERS_MAX];
    int64_t next; /* index that nobody has yet */
    int64_t done; /* results that came back, or never will */
    char *result; /* room for one */
    struct status *st;
};

/* All of it, or false: the other end is gone. */
static bool send_all(int socket, const void *data, size_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        ssize_t n = send(socket, at, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool receive_all(int socket, void *data, size_t bytes)
{
    for (char *at = data; bytes > 0;) {
        ssize_t n = recv(socket, at, bytes, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* A worker's life. It ends with its caller's, however that ends. It leaves by _exit: what its caller has in buffers is
 * not its to write. */
static _Noreturn void live(struct crew *crew, int socket, pid_t caller)
{
    int64_t index;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != caller) /* it has died before we asked for that */
        _exit(EXIT_FAILURE);
    while (receive_all(socket, &index, sizeof index) && !*crew->end) {
        memset(crew->result, 0, crew->task->result_bytes);
        crew->task->work(crew->task->context, index, crew->result);
        if (!send_all(socket, crew->result, crew->task->result_bytes))
            break;
    }
    _exit(0);
}

static int hire(struct crew *crew, struct worker *worker)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        return status_fail(crew->st, STATUS_IO, "no socket for a worker: %s; try a smaller -j",
                           strerror(errno));
    fflush(NULL);
    pid_t caller = getpid(), pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return status_fail(crew->st, STATUS_IO, "no process for a worker: %s; try a smaller -j",
                           strerror(errno));
    }
    if (pid == 0) {
        for (int w = 0; w < crew->workers; w++)
            if (crew->worker[w].pid > 0)
                close(crew->worker[w].socket);
        close(ends[0]);
        live(crew, ends[1], caller);
    }
    close(ends[1]);
    *worker = (struct worker){.pid = pid, .socket = ends[0]};
    return 0;
}

/* Everybody gets an index before anybody gets a second one. */
static void feed_all(struct crew *crew)
{
    int64_t most = crew->task->limit ? crew->task->limit(crew->task->context) : crew->task->count;
    if (most > crew->task->count)
        most = crew->task->count;
    if (*crew->end)
        return;
    for (int depth = 1; depth <= AHEAD; depth++)
        for (int w = 0; w < crew->workers && crew->next < most; w++) {
            struct worker *worker = &crew->worker[w];
            if (worker->pid <= 0 || worker->queued >= depth)
                continue;
            /* If it is dead already, its socket says so at the next poll. */
            int64_t index = crew->next++;
            worker->index[worker->queued++] = index;
            send_all(worker->socket, &index, sizeof index);
        }
}

static const char *cause_of_death(int wait_status, char text[static 64])
{
    if (WIFSIGNALED(wait_status))
        snprintf(text, 64, "killed by signal %d (%s)", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)));
    else
        snprintf(text, 64, "left with status %d", WEXITSTATUS(wait_status));
    return text;
}

/* The index that it was at is lost; the one after it goes to its successor. */
static int replace(struct crew *crew, struct worker *worker)
{
    char text[64];
    int wait_status = 0;
    struct worker dead = *worker;
    close(worker->socket);
    worker->pid = 0;
    while (waitpid(dead.pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    if (*crew->end && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
        return 0; /* it has begun nothing more */
    crew->done++;
    int code = crew->task->done(crew->task->context, dead.index[0], NULL, cause_of_death(wait_status, text),
                                crew->st);
    if (code == 0 && crew->done < crew->task->count && !*crew->end)
        code = hire(crew, worker);
    for (int i = 1; i < dead.queued && code == 0 && worker->pid > 0; i++) {
        worker->index[worker->queued++] = dead.index[i];
        send_all(worker->socket, &dead.index[i], sizeof dead.index[i]);
    }
    return code;
}

static int take_result(struct crew *crew, struct worker *worker)
{
    if (!receive_all(worker->socket, crew->result, crew->task->result_bytes))
        return replace(crew, worker);
    int64_t index = worker->index[0];
    memmove(worker->index, worker->index + 1, sizeof worker->index - sizeof worker->index[0]);
    worker->queued--;
    crew->done++;
    feed_all(crew);
    return crew->task->done(crew->task->context, index, crew->result, NULL, crew->st);
}

/* Ctrl-C: the workers finish what they are at. The next one is nobody's but the system's. */
static void begin_end(struct crew *crew)
{
    struct signalfd_siginfo signal;
    sigset_t set;
    if (read(crew->signals, &signal, sizeof signal) != sizeof signal)
        return;
    *crew->end = true;
    for (int w = 0; w < crew->workers; w++)
        if (crew->worker[w].pid > 0)
            shutdown(crew->worker[w].socket, SHUT_WR);
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Has every worker handed back what it was at? */
static bool is_over(const struct crew *crew)
{
    bool working = false;
    for (int w = 0; w < crew->workers; w++)
        working |= crew->worker[w].pid > 0;
    return crew->done == crew->task->count || (*crew->end && !working);
}

static int supervise(struct crew *crew)
{
    struct pollfd wait[WORKERS_MAX + 1];
    while (!is_over(crew)) {
        feed_all(crew);
        for (int w = 0; w < crew->workers; w++) {
            struct worker *worker = &crew->worker[w];
            bool busy = worker->pid > 0 && (worker->queued > 0 || *crew->end);
            wait[w] = (struct pollfd){.fd = busy ? worker->socket : -1, .events = POLLIN};
        }
        wait[crew->workers] = (struct pollfd){.fd = *crew->end ? -1 : crew->signals, .events = POLLIN};
        if (poll(wait, (nfds_t)crew->workers + 1, TICK_MS) < 0 && errno != EINTR)
            return status_fail(crew->st, STATUS_IO, "poll: %s", strerror(errno));
        int code = crew->task->tick ? crew->task->tick(crew->task->context, crew->st) : 0;
        if (code == 0 && wait[crew->workers].revents)
            begin_end(crew);
        for (int w = 0; w < crew->workers && code == 0; w++)
            code = wait[w].revents ? take_result(crew, &crew->worker[w]) : 0;
        if (code < 0)
            return code;
    }
    return *crew->end && crew->done < crew->task->count ? WORKERS_STOPPED : 0;
}

/* Workers end when their socket does; one that still works when all is over (after a fault) is not waited for
 * longer than it takes. */
static void dismiss(struct crew *crew, bool failed)
{
    for (int w = 0; w < crew->workers; w++)
        if (crew->worker[w].pid > 0)
            close(crew->worker[w].socket);
    for (int w = 0; w < crew->workers; w++) {
        if (crew->worker[w].pid <= 0)
            continue;
        if (failed)
            kill(crew->worker[w].pid, SIGTERM);
        while (waitpid(crew->worker[w].pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
}

/* From now on SIGINT is read and does not end the process; unless nobody cares for it, as behind nohup. */
static int open_signals(sigset_t *before)
{
    struct sigaction action;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, NULL, before);
    if (sigaction(SIGINT, NULL, &action) < 0 || action.sa_handler != SIG_DFL)
        return -1;
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int run_crew(struct crew *crew)
{
    int code = 0;
    for (int w = 0; w < crew->workers && code == 0; w++)
        code = hire(crew, &crew->worker[w]);
    if (code == 0)
        code = supervise(crew);
    dismiss(crew, code < 0);
    return code;
}

int workers_run(const struct workers_task *task, int workers, struct status *st)
{
    struct crew crew = {.task = task, .workers = workers < 1 ? 1 : workers, .st = st};
    sigset_t before;
    if (crew.workers > WORKERS_MAX)
        return status_fail(st, STATUS_INPUT, "-j %d: %d workers at most", workers, WORKERS_MAX);
    if (crew.workers > task->count)
        crew.workers = (int)task->count;
    void *shared = mmap(NULL, sizeof *crew.end, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    crew.result = malloc(task->result_bytes);
    if (!crew.result || shared == MAP_FAILED) {
        free(crew.result);
        return status_nomem(st);
    }
    crew.end = shared;
    crew.signals = open_signals(&before);
    int code = run_crew(&crew);
    if (crew.signals >= 0)
        close(crew.signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
    munmap(shared, sizeof *crew.end);
    free(crew.result);
    return code;
}
