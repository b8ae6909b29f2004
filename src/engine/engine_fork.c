/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs an engine in a child process: for an engine that a process can run only once, and so that its side
 * effects (locales, signal handlers, an abort) only affect the child. The trace and the status come back
 * through shared memory. The engine's output does not go to the terminal: its last line becomes part of the
 * message if the child dies.
 *
 * A child that is killed from outside is tried once more. The child is the first to load the engine's
 * libraries, so if memory is short, only the child dies. After a successful run they are loaded here, too, so
 * that later children have them from the start.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory_limit.h"
#include "engine/engines.h"

enum { WORDS = 4096, SAID = 240 }; /* bytes read of the child's output; bytes quoted in the message */

struct shared {
    int code;
    bool done;
    struct status status;
    double total_s;
    double time_s[]; /* the times of the trace */
};

/* A run in a child process. */
struct job {
    const struct engine *engine;
    const struct program *program;
    const struct engine_limits *limits;
    struct trace *trace; /* each process has its own copy */
    struct shared *shared;
    int words;
    pid_t parent;
};

/* Opens a file in memory for the child's output; in sanitized builds the output goes to the terminal. */
static int open_words(void)
{
#ifdef ICISIM_SANITIZE
    return -1;
#else
    return memfd_create("engine", MFD_CLOEXEC);
#endif
}

/* The child's own error message, as ": 'the line'": the first line that SimGrid marks as critical, without
 * its prefix ("[0.1] ./src/x.cpp:9: [root/CRITICAL] "), or else the last line; "" if there is none. */
static const char *last_words(int words, char text[static WORDS])
{
    static const char open[] = ": '", mark[] = "/CRITICAL] ";
    char *line = text + sizeof open - 1;
    ssize_t n = pread(words, line, WORDS - sizeof open - 2, 0);
    while (n > 0 && line[n - 1] == '\n')
        n--;
    if (n <= 0)
        return "";
    line[n] = '\0';
    const char *critical = strstr(line, mark), *newline = strrchr(line, '\n');
    const char *said = critical ? critical + strlen(mark) : newline ? newline + 1 : line;
    size_t length = strcspn(said, "\n");
    length = length < SAID ? length : SAID;
    memmove(line, said, length);
    memcpy(line + length, "'", 2);
    return memcpy(text, open, sizeof open - 1);
}

/* When memory runs out, SimGrid and C++ abort with one of these messages; one is that the platform, a file in
 * memory, cannot be opened. */
static int death_code(const char *said)
{
    static const char *const starved[] = {"memory allocation error", "bad_alloc",
                                          "Unable to open '/proc/self/fd/"};
    for (size_t i = 0; i < sizeof starved / sizeof *starved; i++)
        if (strstr(said, starved[i]))
            return STATUS_NOMEM;
    return STATUS_ENGINE;
}

/* Sets a timer: SIGALRM ends the child when its time is over. */
static void start_timer(const struct engine_limits *limits)
{
    if (!(limits->time_s > 0))
        return;
    signal(SIGALRM, SIG_DFL);
    stopwatch_set_timer(ITIMER_REAL, fmax(limits->time_s - stopwatch_wall_s(&limits->since), 2e-6));
}

/* Blocks SIGINT in the child. The parent decides whether the child ends or may finish; SimGrid would end it,
 * even if the signal is ignored, as under nohup. */
static void block_interrupts(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Runs the engine in the child. It never returns, and leaves the parent's buffered output alone. */
static _Noreturn void run_child(const struct job *job)
{
    /* The child ends when its parent does; the parent may have died before prctl() took effect. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != job->parent)
        _exit(EXIT_FAILURE);
    if (job->words >= 0 && (dup2(job->words, STDOUT_FILENO) < 0 || dup2(job->words, STDERR_FILENO) < 0))
        _exit(EXIT_FAILURE);
    block_interrupts();
    start_timer(job->limits);
    memory_release(); /* SimGrid reserves far more memory for its stacks than it uses */
    struct shared *shared = job->shared;
    shared->code = job->engine->run(job->program, job->limits, job->trace, &shared->status);
    shared->total_s = job->trace->total_s;
    memcpy(shared->time_s, job->trace->time_s, job->trace->times * sizeof *shared->time_s);
    shared->done = true;
    _exit(EXIT_SUCCESS);
}

/* Was the child ended from outside, as by the kernel's out-of-memory killer? */
static bool was_killed(int how)
{
    int number = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    return number == SIGKILL || number == SIGTERM || number == SIGHUP || number == SIGINT ||
           number == SIGPIPE;
}

/* A child would inherit the loader's locks as another thread holds them, and wait forever: nobody forks meanwhile. */
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* Runs a child process to its end; *how is its wait status. */
static int run_process(const struct job *job, int *how, struct status *st)
{
    fflush(NULL); /* otherwise the child would inherit the buffered output */
    pthread_mutex_lock(&loading);
    pid_t child = fork();
    if (child == 0)
        run_child(job);
    pthread_mutex_unlock(&loading);
    if (child < 0)
        return status_fail(st, STATUS_ENGINE, "engine %s: cannot start a process: %s", job->engine->name,
                           strerror(errno));
    while (waitpid(child, how, 0) < 0)
        if (errno != EINTR)
            return status_fail(st, STATUS_ENGINE, "engine %s: cannot wait for its process: %s",
                               job->engine->name, strerror(errno));
    return 0;
}

/* Turns the end of the child into a code and a message. */
static int judge(const struct job *job, int how, struct status *st)
{
    const struct shared *shared = job->shared;
    char text[WORDS];
    if (shared->done)
        return shared->code ? status_fail(st, shared->code, "%s", shared->status.text) : 0;
    if (WIFSIGNALED(how) && WTERMSIG(how) == SIGALRM)
        return engine_out_of_time(job->limits, st);
    const char *said = last_words(job->words, text);
    if (WIFSIGNALED(how))
        return status_fail(st, death_code(said), "engine %s %s signal %d (%s)%s; try another engine",
                           job->engine->name, was_killed(how) ? "was twice killed by" : "died of",
                           WTERMSIG(how), strsignal(WTERMSIG(how)), said);
    return status_fail(st, STATUS_ENGINE, "engine %s left with exit status %d%s; try another engine",
                       job->engine->name, WEXITSTATUS(how), said);
}

int engine_run_forked(const struct engine *engine, const struct program *program,
                      const struct engine_limits *limits, struct trace *trace, struct status *st)
{
    struct job job = {engine, program, limits, trace, .words = open_words(), .parent = getpid()};
    size_t times_bytes = trace->times * sizeof *trace->time_s, bytes = sizeof *job.shared + times_bytes;
    job.shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); /* all zero */
    int how = 0, code = job.shared == MAP_FAILED ? status_nomem(st) : 0;
    if (code == 0) {
        code = run_process(&job, &how, st);
        if (code == 0 && !job.shared->done && was_killed(how))
            code = run_process(&job, &how, st);
        if (code == 0)
            code = judge(&job, how, st);
        if (code == 0) {
            memcpy(trace->time_s, job.shared->time_s, times_bytes);
            trace->total_s = job.shared->total_s;
            pthread_mutex_lock(&loading);
            if (engine->prepare)
                engine->prepare();
            pthread_mutex_unlock(&loading);
        }
        munmap(job.shared, bytes);
    }
    if (job.words >= 0)
        close(job.words);
    return code;
}
