/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/workers.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Memory that the caller shares with its workers, followed by RESULTS results of each. The workers take their
 * indices from it themselves. */
struct shared {
    pthread_mutex_t taking;            /* its holder alone may take an index */
    _Atomic int64_t next;              /* the next index to take */
    _Atomic int64_t limit;             /* indices from here on must wait */
    atomic_bool end;                   /* no worker may begin another index */
    _Atomic int64_t at[WORKERS_MAX];   /* the index that a worker has taken; -1: none */
    _Atomic int64_t told[WORKERS_MAX]; /* how many of its results the caller has taken */
};

struct worker {
    pid_t pid;     /* 0: none */
    int results;   /* read end of the pipe on which it sends the indices of results */
    int64_t last;  /* index of the last result received; -1: none */
    int64_t again; /* the index that it begins with, as its predecessor died at it; -1: none */
};

struct crew {
    const struct workers_task *task;
    struct shared *shared;
    bool asks; /* SIGINT is blocked, and supervise() polls for it */
    int workers;
    struct worker worker[WORKERS_MAX];
    int64_t done; /* indices with a result, or given up */
    struct status *st;
};

/* The caller wakes up every TICK_MS. It collects the results that arrive within PAUSE_US, so that quick
 * indices do not cost several system calls each, and at most RESULTS of each worker. */
enum { TICK_MS = 100, PAUSE_US = 1000, RESULTS = 128 };

/* Where a worker puts its result number `made`, in bytes from the start of the shared memory. */
static size_t result_offset(const struct crew *crew, int w, int64_t made)
{
    size_t results = (size_t)w * RESULTS + (size_t)(made % RESULTS);
    return sizeof *crew->shared + results * crew->task->result_bytes;
}

/* A worker that died here has noted the index that it took, but perhaps not that the next one is another. */
static void lock_taking(struct shared *shared)
{
    if (pthread_mutex_lock(&shared->taking) != EOWNERDEAD)
        return;
    for (int w = 0; w < WORKERS_MAX; w++)
        if (shared->at[w] >= shared->next)
            shared->next = shared->at[w] + 1;
    pthread_mutex_consistent(&shared->taking);
}

/* Takes the next index, -1 if there is none to begin. */
static int64_t take_index(struct shared *shared, int w, int64_t count)
{
    lock_taking(shared);
    int64_t index = shared->next < count ? shared->next : -1;
    shared->at[w] = index;
    shared->next += index >= 0;
    pthread_mutex_unlock(&shared->taking);
    while (index >= shared->limit && !shared->end)
        usleep(PAUSE_US);
    if (shared->end)
        shared->at[w] = index = -1;
    return index;
}

/* Runs a worker until there are no more indices or its caller dies. It leaves by _exit(), since the buffered
 * output that it inherited is its caller's to write. */
static _Noreturn void live(struct crew *crew, int w, int results, pid_t caller)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != caller) /* the caller died before prctl() took effect */
        _exit(EXIT_FAILURE);
    int64_t index = crew->worker[w].again, made = 0;
    if (index < 0)
        index = take_index(crew->shared, w, crew->task->count);
    for (; index >= 0; index = take_index(crew->shared, w, crew->task->count)) {
        while (made - crew->shared->told[w] >= RESULTS)
            usleep(PAUSE_US);
        crew->task->work(crew->task->context, index, (char *)crew->shared + result_offset(crew, w, made++));
        if (write(results, &index, sizeof index) < 0) /* these few bytes go at once, or not at all */
            _exit(EXIT_FAILURE);
    }
    _exit(0);
}

/* Starts a worker. It begins with the index `again`, unless that is -1. */
static int hire(struct crew *crew, int w, int64_t again)
{
    int ends[2];
    if (pipe(ends) < 0)
        return status_fail(crew->st, STATUS_IO, "no pipe for a worker: %s; try a smaller -j",
                           strerror(errno));
    crew->shared->at[w] = crew->worker[w].again = again;
    crew->shared->told[w] = 0;
    fflush(NULL);
    pid_t caller = getpid(), pid = fork();
    if (pid == 0) {
        close(ends[0]);
        live(crew, w, ends[1], caller);
    }
    int reason = errno;
    close(ends[1]);
    if (pid > 0) {
        crew->worker[w] = (struct worker){.pid = pid, .results = ends[0], .last = -1, .again = again};
        return 0;
    }
    close(ends[0]);
    return status_fail(crew->st, STATUS_IO, "no process for a worker: %s; try a smaller -j",
                       strerror(reason));
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

/* Hands a result to the caller and updates the limit up to which workers may begin indices. */
static int tell(struct crew *crew, int64_t index, const void *result, const char *how)
{
    const struct workers_task *task = crew->task;
    crew->done++;
    int code = task->done(task->context, index, result, how, crew->st);
    crew->shared->limit = task->limit ? task->limit(task->context) : task->count;
    return code;
}

/* A worker has ended. If it died, a new worker replaces it and tries its index once more, except after
 * Ctrl-C. An index at which two workers died is given up. */
static int bury(struct crew *crew, int w)
{
    struct worker *worker = &crew->worker[w];
    char text[64];
    int wait_status = 0, code = 0;
    int64_t at = crew->shared->at[w];
    close(worker->results);
    while (waitpid(worker->pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    lock_taking(crew->shared); /* before at[w] is another */
    pthread_mutex_unlock(&crew->shared->taking);
    worker->pid = 0;
    bool lost = at >= 0 && at != worker->last && !crew->shared->end, again = lost && at != worker->again;
    if (lost && !again)
        code = tell(crew, at, NULL, cause_of_death(wait_status, text));
    bool died = !WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0 || at >= 0;
    return code == 0 && died && crew->done < crew->task->count && !crew->shared->end
               ? hire(crew, w, again ? at : -1)
               : code;
}

/* Takes the results that a worker's pipe names, or notices that the worker has ended. */
static int hear(struct crew *crew, int w)
{
    struct worker *worker = &crew->worker[w];
    int64_t index[RESULTS];
    int code = 0;
    ssize_t n = read(worker->results, index, sizeof index);
    if (n <= 0)
        return n < 0 && errno == EINTR ? 0 : bury(crew, w);
    for (size_t i = 0; i < (size_t)n / sizeof *index && code == 0; i++) {
        worker->last = index[i];
        const char *result = (char *)crew->shared + result_offset(crew, w, crew->shared->told[w]);
        code = tell(crew, index[i], result, NULL);
        crew->shared->told[w]++;
    }
    return code;
}

/* SIGINT alone. */
static sigset_t interrupts(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    return set;
}

bool workers_interrupted(void)
{
    const sigset_t set = interrupts();
    return sigtimedwait(&set, NULL, &(struct timespec){0}) == SIGINT;
}

/* After Ctrl-C the workers finish their current indices. SIGINT is then unblocked, so that a second Ctrl-C
 * ends the process. */
static void look_for_interrupt(struct crew *crew)
{
    const sigset_t set = interrupts();
    if (!crew->asks || !workers_interrupted())
        return;
    crew->shared->end = true;
    crew->asks = false;
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Runs until all workers have ended, which they do when no index is left. */
static int supervise(struct crew *crew)
{
    struct pollfd wait[WORKERS_MAX];
    for (;;) {
        int living = 0;
        for (int w = 0; w < crew->workers; w++) {
            bool lives = crew->worker[w].pid > 0;
            wait[w] = (struct pollfd){.fd = lives ? crew->worker[w].results : -1, .events = POLLIN};
            living += lives;
        }
        if (living == 0)
            return crew->done < crew->task->count ? WORKERS_STOPPED : 0;
        if (poll(wait, (nfds_t)crew->workers, TICK_MS) < 0 && errno != EINTR)
            return status_fail(crew->st, STATUS_IO, "poll: %s", strerror(errno));
        usleep(PAUSE_US);
        look_for_interrupt(crew);
        int code = crew->task->tick ? crew->task->tick(crew->task->context, crew->st) : 0;
        for (int w = 0; w < crew->workers && code == 0; w++)
            code = wait[w].revents ? hear(crew, w) : 0;
        if (code < 0)
            return code;
    }
}

/* Ends the workers that still run after a fault. */
static void dismiss(struct crew *crew)
{
    for (int w = 0; w < crew->workers; w++) {
        if (crew->worker[w].pid <= 0)
            continue;
        kill(crew->worker[w].pid, SIGTERM);
        close(crew->worker[w].results);
        while (waitpid(crew->worker[w].pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
}

bool workers_hold(sigset_t *before)
{
    struct sigaction action;
    const sigset_t set = interrupts();
    sigprocmask(SIG_BLOCK, NULL, before);
    return sigaction(SIGINT, NULL, &action) == 0 && action.sa_handler == SIG_DFL &&
           sigprocmask(SIG_BLOCK, &set, NULL) == 0;
}

void workers_release(const sigset_t *before)
{
    sigprocmask(SIG_SETMASK, before, NULL);
}

static int run_crew(struct crew *crew)
{
    const struct workers_task *task = crew->task;
    int code = 0;
    crew->shared->limit = task->limit ? task->limit(task->context) : task->count;
    for (int w = 0; w < crew->workers && code == 0; w++)
        code = hire(crew, w, -1);
    if (code == 0)
        code = supervise(crew);
    dismiss(crew);
    return code;
}

/* Memory that the workers share, in which nothing is taken; NULL if there is none. */
static struct shared *share(size_t bytes)
{
    struct shared *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    if (shared == MAP_FAILED)
        return NULL;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shared->taking, &attributes);
    for (int w = 0; w < WORKERS_MAX; w++)
        shared->at[w] = -1;
    return shared;
}

int workers_run(const struct workers_task *task, int workers, struct status *st)
{
    struct crew crew = {.task = task, .workers = workers < 1 ? 1 : workers, .st = st};
    sigset_t before;
    if (crew.workers > WORKERS_MAX)
        return status_fail(st, STATUS_INPUT, "-j %d: %d workers at most", workers, WORKERS_MAX);
    if (crew.workers > task->count)
        crew.workers = (int)task->count;
    size_t bytes = result_offset(&crew, crew.workers, 0);
    crew.shared = share(bytes);
    if (!crew.shared)
        return status_nomem(st);
    crew.asks = workers_hold(&before);
    int code = run_crew(&crew);
    workers_release(&before);
    munmap(crew.shared, bytes);
    return code;
}
