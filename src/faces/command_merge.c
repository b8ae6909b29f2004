/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * icisim merge: the CSVs of all shards of a sweep as the CSV that one machine would have written.
 *
 * Point p is row p / n of shard p % n, so rows are taken from the shards in turn. The files are read line by
 * line, twice: the first time to check that each of them is complete.
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
    struct sweep_reader reader;
    struct shard shard;
    int64_t points, rows;
    char *grid, *names; /* the grid in its first line; the column names */
};

/* Opens a file, reads the lines before its rows, and counts the rows. */
static int open_part(struct part *part, struct status *st)
{
    struct sweep_reader *reader = &part->reader;
    const char *grid;
    if (sweep_reader_open(reader, reader->path, st) < 0)
        return st->code;
    if (!sweep_reader_next(reader) || !sweep_reader_is_shard(reader, &part->shard, &part->points, &grid))
        return status_fail(st, STATUS_INPUT,
                           "%s:1: this is not the file of a shard; write one with sweep --shard I/N",
                           reader->path);
    part->grid = strdup(grid);
    part->names = strdup(sweep_reader_next(reader) ? reader->line : "");
    if (!part->grid || !part->names)
        return status_nomem(st);
    while (sweep_reader_next(reader) && sweep_reader_is_whole(reader))
        part->rows++;
    return ferror(reader->in)
               ? status_fail(st, STATUS_IO, "cannot read '%s': %s", reader->path, strerror(errno))
               : 0;
}

/* Is a part complete, and do two parts belong to one sweep by one version of the program? */
static int check_part(const struct part *part, const struct part *first, struct status *st)
{
    const char *path = part->reader.path, *other = first->reader.path;
    int64_t rows = shard_rows(part->shard, part->points);
    if (part->rows != rows)
        return status_fail(
            st, STATUS_INPUT, "%s: %" PRId64 " of %" PRId64 " rows are there%s", path, part->rows, rows,
            part->rows < rows ? "; finish it: the same sweep with --resume" : "; it was changed");
    if (part->shard.of != first->shard.of || part->points != first->points ||
        strcmp(part->grid, first->grid) != 0)
        return status_fail(st, STATUS_INPUT,
                           "%s:1: a shard of another sweep than %s: '1 of %d of %" PRId64
                           " points, %.*s' here, '1 of %d of %" PRId64 " points, %.*s' there",
                           path, other, part->shard.of, part->points, (int)strcspn(part->grid, "\n"),
                           part->grid, first->shard.of, first->points, (int)strcspn(first->grid, "\n"),
                           first->grid);
    if (strcmp(part->names, first->names) != 0)
        return status_fail(st, STATUS_INPUT,
                           "%s:2: other columns than in %s; both must be of one version of the program", path,
                           other);
    return 0;
}

static int by_shard(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return x->shard.index - y->shard.index;
}

/* Checks that all parts are of one sweep, complete, none missing and none given twice. */
static int check_parts(struct part part[], int parts, struct status *st)
{
    int of = part[0].shard.of, missing = 0;
    for (int i = 0; i < parts; i++)
        if (check_part(&part[i], &part[0], st) < 0)
            return st->code;
    qsort(part, (size_t)parts, sizeof *part, by_shard);
    for (int i = 1; i < parts; i++)
        if (part[i].shard.index == part[i - 1].shard.index)
            return status_fail(st, STATUS_INPUT, "%s and %s are both shard %d/%d; name it once",
                               part[i - 1].reader.path, part[i].reader.path, part[i].shard.index, of);
    while (missing < parts && part[missing].shard.index == missing)
        missing++;
    if (missing == of)
        return 0;
    return status_fail(st, STATUS_INPUT, "shard %d/%d is missing: %d of %d files are there", missing, of,
                       parts, of);
}

/* Writes the rows of the parts in turn. */
static int write_rows(struct part part[], int parts, FILE *out, struct status *st)
{
    for (int i = 0; i < parts; i++) {
        rewind(part[i].reader.in);
        for (int head = 0; head < 2; head++)
            sweep_reader_next(&part[i].reader);
    }
    fputs(part[0].names, out);
    for (int64_t p = 0; p < part[0].points; p++) {
        struct sweep_reader *from = &part[p % parts].reader;
        if (!sweep_reader_next(from))
            return status_fail(st, STATUS_IO, "%s: has become shorter while it was read", from->path);
        fputs(from->line, out);
    }
    return 0;
}

/* Many files are open at once: raises the limit of open files as far as the system allows. */
static void allow_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static int merge_parts(struct part part[], int parts, const char *path, struct status *st)
{
    struct output output = {0};
    int code = 0;
    for (int i = 0; i < parts && code == 0; i++)
        if (output_same(part[i].reader.path, path))
            code = status_fail(st, STATUS_INPUT, "--csv: '%s' is one of the parts; name another file", path);
    for (int i = 0; i < parts && code == 0; i++)
        code = open_part(&part[i], st);
    if (code == 0 && check_parts(part, parts, st) == 0 && rows_open_path("csv", path, &output, st) == 0 &&
        write_rows(part, parts, output.file, st) == 0)
        output_commit(&output, st);
    output_abandon(&output);
    return st->code;
}

static int merge(struct settings *settings, struct status *st)
{
    const struct setting *parts = &settings->of[option_index(option_by_name("part"))];
    const char *csv = settings_text(settings, "csv");
    if (parts->count == 0)
        return status_fail(st, STATUS_INPUT, "which shards? write icisim merge part-*.csv");
    struct part *part = calloc((size_t)parts->count, sizeof *part);
    if (!part)
        return status_nomem(st);
    for (int i = 0; i < parts->count; i++)
        part[i].reader.path = parts->text[i];
    allow_files();
    int code = merge_parts(part, parts->count, csv ? csv : "-", st);
    for (int i = 0; i < parts->count; i++) {
        sweep_reader_close(&part[i].reader);
        free(part[i].grid);
        free(part[i].names);
    }
    free(part);
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
