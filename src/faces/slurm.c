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
#include "faces/sweep_shard.h"

struct slurm {
    const struct settings *settings;
    const char *csv;
    int stem; /* letters of the CSV's path before ".csv" */
    int tasks, jobs;
    int64_t points;
    char program[PATH_MAX], folder[PATH_MAX];
};

static void put_word(void *out, const char *word)
{
    fputc(' ', out);
    shell_print(word, out);
}

/* A path beside the CSV, for a shell to read; `end` is one that needs no quotes. */
static void put_path(const struct slurm *slurm, const char *end, FILE *out)
{
    char stem[PATH_MAX];
    snprintf(stem, sizeof stem, "%.*s", slurm->stem, slurm->csv);
    shell_print(stem, out);
    fputs(end, out);
}

static void write_head(const struct slurm *slurm, FILE *out)
{
    fprintf(
        out,
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
        "script=$(realpath \"$0\")\n"
        "cd ",
        slurm->tasks - 1, slurm->jobs, slurm->points, slurm->tasks);
    shell_print(slurm->folder, out);
    fputs("\nicisim=", out);
    shell_print(slurm->program, out);
    fputc('\n', out);
}

static void write_task(const struct slurm *slurm, FILE *out)
{
    fprintf(out,
            "if [ -n \"${SLURM_ARRAY_TASK_ID-}\" ]; then\n"
            "    exec \"$icisim\" sweep --shard \"$SLURM_ARRAY_TASK_ID/%d\" --resume --csv ",
            slurm->tasks);
    put_path(slurm, ".part-\"$SLURM_ARRAY_TASK_ID\".csv", out);
    fputs(" \\\n       ", out);
    typed_words(&slurm->settings->typed, "csv resume slurm tasks submit", put_word, out);
    fputs("\nfi\n", out);
}

/* The merge follows however the tasks end, as it sees itself whether all rows are there: a job that waits for success
 * never runs after a task that failed and was started again. */
static void write_submission(const struct slurm *slurm, FILE *out)
{
    char parts[64];
    snprintf(parts, sizeof parts, ".part-{0..%d}.csv", slurm->tasks - 1);
    fputs(
        "array=$(sbatch --parsable \"$@\" \"$script\")\n"
        "merge=$(sbatch --parsable --job-name=icisim-merge --requeue --dependency=\"afterany:${array%%;*}\" "
        "\"$@\" "
        "<<'END'\n"
        "#!/bin/bash\n"
        "cd ",
        out);
    shell_print(slurm->folder, out);
    fputs("\nexec ", out);
    shell_print(slurm->program, out);
    fputs(" merge ", out);
    put_path(slurm, parts, out);
    fputs(" --csv ", out);
    shell_print(slurm->csv, out);
    fprintf(out,
            "\nEND\n)\n"
            "echo \"job array ${array%%%%;*} of %d tasks, then job ${merge%%%%;*} that merges their rows\"\n",
            slurm->tasks);
}

static int write_script(const struct slurm *slurm, const char *path, struct status *st)
{
    struct output output = {0};
    int code = rows_open_path("slurm", path, &output, st);
    if (code == 0) {
        write_head(slurm, output.file);
        write_task(slurm, output.file);
        write_submission(slurm, output.file);
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

static void say_how(const struct slurm *slurm, const char *path)
{
    printf("%" PRId64 " points in %d tasks; to submit them: bash ", slurm->points, slurm->tasks);
    shell_print(path, stdout);
    putchar('\n');
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
    slurm.stem = (int)(n > 4 && strcmp(slurm.csv + n - 4, ".csv") == 0 ? n - 4 : n);
    if (snprintf(path, sizeof path, "%.*s.slurm", slurm.stem, slurm.csv) >= (int)sizeof path)
        return status_fail(st, STATUS_INPUT, "--csv: a path of more than %d characters", PATH_MAX - 8);
    int code = find_places(&slurm, st);
    if (code == 0)
        code = write_script(&slurm, path, st);
    if (code == 0 && settings_flag(settings, "submit"))
        return submit(path, st);
    if (code == 0)
        say_how(&slurm, path);
    return code;
}
