/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/workers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stopwatch.h"

/* A worker has at least one index that it is at and one that it finds when it is done with that, so that it never waits
 * for its caller; and as many as it gets done in BUSY_S, so that quick ones do not cost a call of the system each. */
enum { AHEAD = 2, DESK = 32 };
#define BUSY_S 0.01

/* Where a worker finds its indices and puts its results, in memory that it shares with the caller: places are used again
 * when the caller has taken what is there. A byte in its socket, either way, only says that there is something new. */
struct desk {
    _Atomic int64_t given, done; /* indices that lie here, results that do, both since it was hired */
    _Atomic int depth;           /* indices that it is given at a time */
    int64_t index[DESK];
    _Alignas(max_align_t) char result[]; /* [DESK] */
};

struct worker {
    pid_t pid; /* 0: none */
    int socket;
    struct desk *desk;
    int64_t taken; /* results that the caller took */
    struct stopwatch since;
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
    struct status *st;
};

/* Wakes the other end, if it sleeps. Where a socket is full of bytes it will not. */
static void wake(int socket)
{
    char byte = 0;
    send(socket, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Sleeps until the other end wakes it; false: that is gone. */
static bool sleep_well(int socket)
{
    char bytes[DESK];
    ssize_t n;
    do
        n = recv(socket, bytes, sizeof bytes, 0);
    while (n < 0 && errno == EINTR);
    return n > 0;
}

static void *result_at(const struct crew *crew, struct desk *desk, int64_t at)
{
    return desk->result + (size_t)(at % DESK) * crew->task->result_bytes;
}

/* A worker's life. It ends with its caller's, however that ends. It leaves by _exit: what its caller has in buffers is
 * not its to write. */
static _Noreturn void live(struct crew *crew, struct desk *desk, int socket, pid_t caller)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != caller) /* it has died before we asked for that */
        _exit(EXIT_FAILURE);
    for (int64_t at = 0, told = 0;; at++) {
        while (at == desk->given)
            if (!sleep_well(socket))
                _exit(0);
        if (*crew->end)
            _exit(0);
        void *result = result_at(crew, desk, at);
        memset(result, 0, crew->task->result_bytes);
        crew->task->work(crew->task->context, desk->index[at % DESK], result);
        desk->done = at + 1;
        if (at + 1 - told >= desk->depth / 2 || at + 1 == desk->given) {
            wake(socket);
            told = at + 1;
        }
    }
}

static int hire(struct crew *crew, struct worker *worker)
{
    int ends[2];
    struct desk *desk = worker->desk;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        return status_fail(crew->st, STATUS_IO, "no socket for a worker: %s; try a smaller -j",
                           strerror(errno));
    desk->given = desk->done = 0;
    desk->depth = AHEAD;
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
        live(crew, desk, ends[1], caller);
    }
    close(ends[1]);
    *worker = (struct worker){.pid = pid, .socket = ends[0], .desk = desk, .since = stopwatch_start_wall()};
    return 0;
}

static int64_t queued(const struct worker *worker)
{
    return worker->desk->given - worker->taken;
}

static void give(struct worker *worker, int64_t index)
{
    worker->desk->index[worker->desk->given % DESK] = index;
    worker->desk->given++;
}

/* Everybody gets an index before anybody gets a second one. */
static void feed_all(struct crew *crew)
{
    int64_t most = crew->task->limit ? crew->task->limit(crew->task->context) : crew->task->count;
    bool fed[WORKERS_MAX] = {false};
    if (most > crew->task->count)
        most = crew->task->count;
    if (*crew->end)
        return;
    for (int depth = 1; depth <= DESK && crew->next < most; depth++)
        for (int w = 0; w < crew->workers && crew->next < most; w++) {
            struct worker *worker = &crew->worker[w];
            if (worker->pid <= 0 || depth > worker->desk->depth || queued(worker) >= depth)
                continue;
            give(worker, crew->next++);
            fed[w] = true;
        }
    for (int w = 0; w < crew->workers; w++)
        if (fed[w])
            wake(crew->worker[w].socket); /* if it is dead already, its socket says so at the next poll */
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

/* Takes the results that lie on a worker's desk, and sees how many it gets done. */
static int collect(struct crew *crew, struct worker *worker)
{
    struct desk *desk = worker->desk;
    int64_t done = desk->done, n = done - worker->taken;
    int code = 0;
    if (n == 0)
        return 0;
    double rate = BUSY_S / stopwatch_wall_s(&worker->since) * (double)n;
    desk->depth = rate < AHEAD ? AHEAD : rate > DESK ? DESK : (int)rate;
    worker->since = stopwatch_start_wall();
    for (; worker->taken < done && code == 0; worker->taken++, crew->done++)
        code = crew->task->done(crew->task->context, desk->index[worker->taken % DESK],
                                result_at(crew, desk, worker->taken), NULL, crew->st);
    return code;
}

/* The index that it was at is lost; those after it go to its successor. */
static int replace(struct crew *crew, struct worker *worker)
{
    char text[64];
    int wait_status = 0, code = collect(crew, worker);
    int64_t left[DESK], lefts = 0;
    close(worker->socket);
    while (waitpid(worker->pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    worker->pid = 0;
    if (code < 0 || (*crew->end && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0))
        return code; /* it has begun nothing more */
    for (; worker->taken < worker->desk->given; worker->taken++)
        left[lefts++] = worker->desk->index[worker->taken % DESK];
    if (lefts > 0) {
        crew->done++;
        code =
            crew->task->done(crew->task->context, left[0], NULL, cause_of_death(wait_status, text), crew->st);
    }
    if (code == 0 && crew->done < crew->task->count && !*crew->end)
        code = hire(crew, worker);
    for (int64_t i = 1; i < lefts && code == 0 && worker->pid > 0; i++)
        give(worker, left[i]);
    if (worker->pid > 0)
        wake(worker->socket);
    return code;
}

/* What a worker's socket says: it has results, or it is gone. */
static int hear(struct crew *crew, struct worker *worker)
{
    return sleep_well(worker->socket) ? collect(crew, worker) : replace(crew, worker);
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
            bool busy = worker->pid > 0 && (queued(worker) > 0 || *crew->end);
            wait[w] = (struct pollfd){.fd = busy ? worker->socket : -1, .events = POLLIN};
        }
        wait[crew->workers] = (struct pollfd){.fd = *crew->end ? -1 : crew->signals, .events = POLLIN};
        if (poll(wait, (nfds_t)crew->workers + 1, TICK_MS) < 0 && errno != EINTR)
            return status_fail(crew->st, STATUS_IO, "poll: %s", strerror(errno));
        int code = crew->task->tick ? crew->task->tick(crew->task->context, crew->st) : 0;
        if (code == 0 && wait[crew->workers].revents)
            begin_end(crew);
        for (int w = 0; w < crew->workers && code == 0; w++)
            code = wait[w].revents ? hear(crew, &crew->worker[w]) : 0;
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

/* From now on SIGINT is read and does not end the process; unless nobody cares for it, as under nohup. */
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

/* The desks, in memory that is shared with the workers to be. */
static size_t lay_out(struct crew *crew, char *shared)
{
    size_t bytes = sizeof(struct desk) + DESK * crew->task->result_bytes, align = _Alignof(struct desk);
    bytes = (bytes + align - 1) / align * align;
    for (int w = 0; shared && w < crew->workers; w++)
        crew->worker[w].desk = (struct desk *)(void *)(shared + align + (size_t)w * bytes);
    crew->end = (bool *)shared;
    return align + (size_t)crew->workers * bytes;
}

int workers_run(const struct workers_task *task, int workers, struct status *st)
{
    struct crew crew = {.task = task, .workers = workers < 1 ? 1 : workers, .st = st};
    sigset_t before;
    if (crew.workers > WORKERS_MAX)
        return status_fail(st, STATUS_INPUT, "-j %d: %d workers at most", workers, WORKERS_MAX);
    if (crew.workers > task->count)
        crew.workers = (int)task->count;
    size_t bytes = lay_out(&crew, NULL);
    void *shared =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shared == MAP_FAILED)
        return status_nomem(st);
    lay_out(&crew, shared);
    crew.signals = open_signals(&before);
    int code = run_crew(&crew);
    if (crew.signals >= 0)
        close(crew.signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
    munmap(shared, bytes);
    return code;
}
