/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * icisim merge: the CSVs of all shards of a sweep as the CSV that one machine would have written.
 *
 * Point p is row p / n of shard p % n, so rows are taken from the shards in turn. The files are read line by line, twice:
 * the first time to see that each of them is whole.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "faces/command.h"
#include "faces/rows.h"
#include "faces/sweep_file.h"

struct part {
    const char *path;
    FILE *in;
    struct shard shard;
    int64_t points;
    char *head, *names; /* the shard's line, and that of the columns */
    const char *grid;   /* in the head */
    int64_t rows;
};

struct merging {
    struct part *part; /* by index of its shard, when they are sorted */
    int parts;
    char *line;
    size_t room;
};

/* The next line, NULL at the end of the file or of its last whole line. */
static const char *next_line(struct merging *merging, struct part *part)
{
    ssize_t n = getline(&merging->line, &merging->room, part->in);
    return n > 0 && merging->line[n - 1] == '\n' ? merging->line : NULL;
}

static int fail_read(const struct part *part, struct status *st)
{
    return status_fail(st, STATUS_IO, "cannot read '%s': %s", part->path, strerror(errno));
}

/* Opens a file, and reads what stands before its rows; counts these. */
static int open_part(struct merging *merging, struct part *part, struct status *st)
{
    part->in = fopen(part->path, "re");
    if (!part->in)
        return fail_read(part, st);
    const char *line = next_line(merging, part);
    part->head = line ? strdup(line) : NULL;
    if (line && !part->head)
        return status_nomem(st);
    if (!line || !sweep_file_parse_shard(part->head, &part->shard, &part->points, &part->grid))
        return status_fail(st, STATUS_INPUT,
                           "%s:1: this is not the file of a shard; write one with sweep --shard I/N",
                           part->path);
    line = next_line(merging, part);
    part->names = line ? strdup(line) : NULL;
    if (line && !part->names)
        return status_nomem(st);
    while (line && next_line(merging, part))
        part->rows++;
    return ferror(part->in) ? fail_read(part, st) : 0;
}

/* Are two parts of one sweep, by one program? */
static int check_same(const struct part *part, const struct part *first, struct status *st)
{
    if (part->shard.of != first->shard.of || part->points != first->points ||
        strcmp(part->grid, first->grid) != 0)
        return status_fail(st, STATUS_INPUT,
                           "%s:1: a shard of another sweep than %s: '1 of %d of %" PRId64
                           " points, %.*s' here, '1 of %d of %" PRId64 " points, %.*s' there",
                           part->path, first->path, part->shard.of, part->points,
                           (int)strcspn(part->grid, "\n"), part->grid, first->shard.of, first->points,
                           (int)strcspn(first->grid, "\n"), first->grid);
    if (strcmp(part->names, first->names) != 0)
        return status_fail(st, STATUS_INPUT,
                           "%s:2: other columns than in %s; both must be of one version of the program",
                           part->path, first->path);
    return 0;
}

static int check_whole(const struct part *part, struct status *st)
{
    int64_t rows = shard_rows(part->shard, part->points);
    if (part->rows == rows && part->names)
        return 0;
    return status_fail(st, STATUS_INPUT, "%s: %" PRId64 " of %" PRId64 " rows are there%s", part->path,
                       part->rows, rows,
                       part->rows < rows ? "; finish it: the same sweep with --resume" : "; it was changed");
}

static int by_shard(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return x->shard.index - y->shard.index;
}

/* All of one sweep, none missing, none twice, each whole. */
static int check_parts(struct merging *merging, struct status *st)
{
    struct part *part = merging->part;
    int code = 0;
    for (int i = 0; i < merging->parts && code == 0; i++) {
        code = check_whole(&part[i], st);
        if (code == 0)
            code = check_same(&part[i], &part[0], st);
    }
    if (code < 0)
        return code;
    qsort(part, (size_t)merging->parts, sizeof *part, by_shard);
    for (int i = 0; i < merging->parts; i++) {
        if (i > 0 && part[i].shard.index == part[i - 1].shard.index)
            return status_fail(st, STATUS_INPUT, "%s and %s are both shard %d/%d; name it once",
                               part[i - 1].path, part[i].path, part[i].shard.index, part[i].shard.of);
        if (part[i].shard.index != i)
            break;
        if (i + 1 == part[i].shard.of)
            return 0;
    }
    int missing = 0;
    while (missing < merging->parts && part[missing].shard.index == missing)
        missing++;
    return status_fail(st, STATUS_INPUT, "shard %d/%d is missing: %d of %d files are there", missing,
                       part[0].shard.of, merging->parts, part[0].shard.of);
}

/* Takes the rows in turn. */
static int write_rows(struct merging *merging, FILE *out, struct status *st)
{
    struct part *part = merging->part;
    for (int i = 0; i < merging->parts; i++) {
        rewind(part[i].in);
        for (int head = 0; head < 2; head++)
            next_line(merging, &part[i]);
    }
    fputs(part[0].names, out);
    for (int64_t p = 0; p < part[0].points; p++) {
        struct part *from = &part[p % part[0].shard.of];
        const char *row = next_line(merging, from);
        if (!row)
            return status_fail(st, STATUS_IO, "%s: has become shorter while it was read", from->path);
        fputs(row, out);
    }
    return 0;
}

/* The file must not be one of the parts. */
static int check_output(const struct merging *merging, const char *path, struct status *st)
{
    for (int i = 0; i < merging->parts; i++)
        if (output_same(merging->part[i].path, path))
            return status_fail(st, STATUS_INPUT, "--csv: '%s' is one of the parts; name another file", path);
    return 0;
}

/* Many files are open at once: as many as the system lets this process have. */
static void allow_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static int merge_parts(struct merging *merging, const char *path, struct status *st)
{
    struct output output = {0};
    int code = check_output(merging, path, st);
    for (int i = 0; i < merging->parts && code == 0; i++)
        code = open_part(merging, &merging->part[i], st);
    if (code == 0)
        code = check_parts(merging, st);
    if (code == 0)
        code = rows_open_path("csv", path, &output, st);
    if (code == 0)
        code = write_rows(merging, output.file, st);
    if (code == 0)
        code = output_commit(&output, st);
    output_abandon(&output);
    return code;
}

static int merge(struct settings *settings, struct status *st)
{
    const struct setting *parts = &settings->of[option_index(option_by_name("part"))];
    const char *csv = settings_text(settings, "csv");
    struct merging merging = {.parts = parts->count};
    if (parts->count == 0)
        return status_fail(st, STATUS_INPUT, "which shards? write icisim merge part-*.csv");
    merging.part = calloc((size_t)parts->count, sizeof *merging.part);
    if (!merging.part)
        return status_nomem(st);
    for (int i = 0; i < merging.parts; i++)
        merging.part[i].path = parts->text[i];
    allow_files();
    int code = merge_parts(&merging, csv ? csv : "-", st);
    for (int i = 0; i < merging.parts; i++) {
        if (merging.part[i].in)
            fclose(merging.part[i].in);
        free(merging.part[i].head);
        free(merging.part[i].names);
    }
    free(merging.part);
    free(merging.line);
    return code;
}

const struct command command_merge = {
    .name = "merge",
    .arguments = "PART.csv ...",
    .what = "puts the shards of a sweep together: the bytes that one machine would have written",
    .more =
        "Each PART.csv is what sweep --shard I/N has written. All N must be there, whole, and of one sweep.",
    .bit = FOR_MERGE,
    .run = merge,
};
