/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/slurm.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/shell.h"
#include "faces/rows.h"
#include "faces/sweep_file.h"

/* Writes a shell line that assigns a text to a variable. */
static void put_variable(const char *name, const char *text, FILE *out)
{
    fprintf(out, "%s=", name);
    shell_print(text, out);
    fputc('\n', out);
}

/* The script around the variables of the program and the command line. The merge runs however the tasks end,
 * as it checks itself that all rows are complete: a job that waits for success never runs if a task has
 * failed and was restarted. */
static const char head[] =
    "#!/bin/bash\n"
    "#SBATCH --job-name=icisim\n"
    "#SBATCH --array=0-%d\n"
    "#SBATCH --cpus-per-task=%d\n"
    "#SBATCH --requeue\n"
    "#SBATCH --open-mode=append\n"
    "# A sweep of %" PRId64
    " points in %d tasks; one that is started again goes on with its rows. To submit it, and a job after\n"
    "# it that puts the rows together, write bash and the name of this file; what follows that goes to "
    "sbatch.\n"
    "set -eu\n"
    "script=$(realpath \"$0\")\n";
static const char task[] = "cd \"$folder\"\n"
                           "if [ -n \"${SLURM_ARRAY_TASK_ID-}\" ]; then\n"
                           "    exec \"$icisim\" sweep --shard \"$SLURM_ARRAY_TASK_ID/%d\" --resume --csv "
                           "\"$stem.part-$SLURM_ARRAY_TASK_ID.csv\" \\\n"
                           "       ";
static const char merge[] =
    "\nfi\n"
    "array=$(sbatch --parsable \"$@\" \"$script\")\n"
    "merge=$(sbatch --parsable --job-name=icisim-merge --requeue --dependency=\"afterany:${array%%%%;*}\" "
    "\"$@\" <<END\n"
    "#!/bin/bash\n"
    "cd ${folder@Q}\n"
    "exec ${icisim@Q} merge ${stem@Q}.part-{0..%d}.csv --csv ${csv@Q}\n"
    "END\n"
    ")\n"
    "echo \"job array ${array%%%%;*} of %d tasks, then job ${merge%%%%;*} that merges their rows\"\n";

static int write_script(const struct grid *grid, const char *csv, const char *stem, FILE *out,
                        struct status *st)
{
    const struct settings *settings = grid->settings;
    int tasks = settings_integer(settings, "tasks");
    char program[PATH_MAX] = "", folder[PATH_MAX];
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        return status_fail(st, STATUS_IO, "--slurm: cannot tell where the program is: %s", strerror(errno));
    if (!getcwd(folder, sizeof folder))
        return status_fail(st, STATUS_IO, "--slurm: cannot tell this folder: %s", strerror(errno));
    fprintf(out, head, tasks - 1, settings_integer(settings, "jobs"), grid->points, tasks);
    put_variable("icisim", program, out);
    put_variable("folder", folder, out);
    put_variable("csv", csv, out);
    put_variable("stem", stem, out);
    fprintf(out, task, tasks);
    settings_print_arguments(settings, "csv resume slurm tasks submit", out);
    fprintf(out, merge, tasks - 1, tasks);
    return 0;
}

static int submit(const char *path, struct status *st)
{
    fflush(stdout);
    execlp("bash", "bash", path, (char *)NULL);
    return status_fail(st, STATUS_IO, "--submit: cannot run bash: %s", strerror(errno));
}

int slurm_write(const struct grid *grid, struct status *st)
{
    const char *csv = settings_text(grid->settings, "csv");
    int tasks = settings_integer(grid->settings, "tasks");
    int64_t most = grid->points < SHARDS_MAX ? grid->points : SHARDS_MAX;
    struct output output = {0};
    char path[PATH_MAX], stem[PATH_MAX];
    if (strcmp(csv, "-") == 0)
        return status_fail(st, STATUS_INPUT, "--slurm: tasks share no stdout; name a file (--csv out.csv)");
    if (tasks < 1 || tasks > most)
        return status_fail(st, STATUS_INPUT, "--tasks %d: write 1 to %" PRId64, tasks, most);
    size_t n = strlen(csv);
    n = n > 4 && strcmp(csv + n - 4, ".csv") == 0 ? n - 4 : n;
    snprintf(stem, sizeof stem, "%.*s", (int)n, csv);
    if (n >= sizeof stem || snprintf(path, sizeof path, "%s.slurm", stem) >= (int)sizeof path)
        return status_fail(st, STATUS_INPUT, "--csv: a path of more than %d characters", PATH_MAX - 8);
    bool written = rows_open_path("slurm", path, &output, st) == 0 &&
                   write_script(grid, csv, stem, output.file, st) == 0 && output_commit(&output, st) == 0;
    output_abandon(&output);
    if (!written)
        return st->code;
    if (settings_flag(grid->settings, "submit"))
        return submit(path, st);
    printf("%" PRId64 " points in %d tasks; to submit them: bash ", grid->points, tasks);
    shell_print(path, stdout);
    putchar('\n');
    return 0;
}
