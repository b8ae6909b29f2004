/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/slurm.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/shell.h"
#include "faces/rows.h"
#include "faces/sweep_file.h"

struct slurm {
    const struct settings *settings;
    const char *csv;
    int tasks, jobs;
    int64_t points;
    char program[PATH_MAX], folder[PATH_MAX], stem[PATH_MAX]; /* the CSV's path without ".csv" */
};

static void put_word(void *out, const char *word)
{
    fputc(' ', out);
    shell_print(word, out);
}

/* A line that gives a text to a variable of the shell. */
static void put_variable(const char *name, const char *text, FILE *out)
{
    fprintf(out, "%s=", name);
    shell_print(text, out);
    fputc('\n', out);
}

/* The merge follows however the tasks end, as it sees itself whether all rows are there: a job that waits for success
 * never runs after a task that failed and was started again. */
static void write_script(const struct slurm *slurm, FILE *out)
{
    static const char head[] =
        "#!/bin/bash\n"
        "#SBATCH --job-name=icisim\n"
        "#SBATCH --array=0-%d\n"
        "#SBATCH --cpus-per-task=%d\n"
        "#SBATCH --requeue\n"
        "#SBATCH --open-mode=append\n"
        "# A sweep of %" PRId64 " points in %d tasks; one that is started again goes on with its rows. To "
        "submit it, and a job after\n"
        "# it that puts the rows together, write bash and the name of this file; what follows that goes to "
        "sbatch.\n"
        "set -eu\n"
        "script=$(realpath \"$0\")\n";
    static const char task[] = "cd \"$folder\"\n"
                               "if [ -n \"${SLURM_ARRAY_TASK_ID-}\" ]; then\n"
                               "    exec \"$icisim\" sweep --shard \"$SLURM_ARRAY_TASK_ID/%d\" --resume "
                               "--csv \"$stem.part-$SLURM_ARRAY_TASK_ID.csv\" \\\n"
                               "       ";
    static const char merge[] =
        "\nfi\n"
        "array=$(sbatch --parsable \"$@\" \"$script\")\n"
        "merge=$(sbatch --parsable --job-name=icisim-merge --requeue "
        "--dependency=\"afterany:${array%%%%;*}\" "
        "\"$@\" <<END\n"
        "#!/bin/bash\n"
        "cd ${folder@Q}\n"
        "exec ${icisim@Q} merge ${stem@Q}.part-{0..%d}.csv --csv ${csv@Q}\n"
        "END\n"
        ")\n"
        "echo \"job array ${array%%%%;*} of %d tasks, then job ${merge%%%%;*} that merges their rows\"\n";
    fprintf(out, head, slurm->tasks - 1, slurm->jobs, slurm->points, slurm->tasks);
    put_variable("icisim", slurm->program, out);
    put_variable("folder", slurm->folder, out);
    put_variable("csv", slurm->csv, out);
    put_variable("stem", slurm->stem, out);
    fprintf(out, task, slurm->tasks);
    typed_words(&slurm->settings->typed, "csv resume slurm tasks submit", put_word, out);
    fprintf(out, merge, slurm->tasks - 1, slurm->tasks);
}

static int write_file(const struct slurm *slurm, const char *path, struct status *st)
{
    struct output output = {0};
    int code = rows_open_path("slurm", path, &output, st);
    if (code == 0) {
        write_script(slurm, output.file);
        code = output_commit(&output, st);
    }
    output_abandon(&output);
    return code;
}

/* Where the program is, and where it runs. */
static int find_places(struct slurm *slurm, struct status *st)
{
    ssize_t n = readlink("/proc/self/exe", slurm->program, sizeof slurm->program - 1);
    if (n >= 0)
        slurm->program[n] = '\0';
    if (n >= 0 && getcwd(slurm->folder, sizeof slurm->folder))
        return 0;
    return status_fail(st, STATUS_IO, "--slurm: cannot tell %s: %s",
                       n < 0 ? "where the program is" : "this folder", strerror(errno));
}

static int submit(const char *path, struct status *st)
{
    fflush(stdout);
    execlp("bash", "bash", path, (char *)NULL);
    return status_fail(st, STATUS_IO, "--submit: cannot run bash: %s", strerror(errno));
}

int slurm_write(const struct grid *grid, struct status *st)
{
    const struct settings *settings = grid->settings;
    struct slurm slurm = {.settings = settings,
                          .csv = settings_text(settings, "csv"),
                          .tasks = settings_integer(settings, "tasks"),
                          .jobs = settings_integer(settings, "jobs"),
                          .points = grid->points};
    char path[PATH_MAX];
    if (strcmp(slurm.csv, "-") == 0)
        return status_fail(st, STATUS_INPUT, "--slurm: tasks share no stdout; name a file (--csv out.csv)");
    if (slurm.tasks < 1 || slurm.tasks > SHARDS_MAX || slurm.tasks > slurm.points)
        return status_fail(st, STATUS_INPUT, "--tasks %d: write 1 to %" PRId64, slurm.tasks,
                           slurm.points < SHARDS_MAX ? slurm.points : SHARDS_MAX);
    size_t n = strlen(slurm.csv);
    int stem = (int)(n > 4 && strcmp(slurm.csv + n - 4, ".csv") == 0 ? n - 4 : n);
    if (snprintf(path, sizeof path, "%.*s.slurm", stem, slurm.csv) >= (int)sizeof path)
        return status_fail(st, STATUS_INPUT, "--csv: a path of more than %d characters", PATH_MAX - 8);
    snprintf(slurm.stem, sizeof slurm.stem, "%.*s", stem, slurm.csv);
    int code = find_places(&slurm, st);
    if (code == 0)
        code = write_file(&slurm, path, st);
    if (code < 0)
        return code;
    if (settings_flag(settings, "submit"))
        return submit(path, st);
    printf("%" PRId64 " points in %d tasks; to submit them: bash", slurm.points, slurm.tasks);
    put_word(stdout, path);
    putchar('\n');
    return 0;
}
