/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/sweep_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "faces/rows.h"

#define SHARD_LINE "# icisim sweep: shard %d/%d of %" PRId64 " points, "

int shard_parse(const char *text, struct shard *shard, struct status *st)
{
    int64_t index = 0, of = 1;
    *shard = (struct shard){0, 1};
    if (!text)
        return 0;
    struct cursor c = cursor_of("--shard", text, st);
    if (cursor_integer(&c, "the shard", 0, SHARDS_MAX - 1, &index) < 0)
        return st->code;
    if (!cursor_accept(&c, "/"))
        return cursor_fail(&c, "expected '/' and how many shards there are, such as 0/16");
    if (cursor_integer(&c, "how many there are", 1, SHARDS_MAX, &of) < 0 || cursor_end(&c) < 0)
        return st->code;
    if (index >= of)
        return cursor_fail(&c, "of %d shards the last one is %d/%d", (int)of, (int)of - 1, (int)of);
    *shard = (struct shard){(int)index, (int)of};
    return 0;
}

int sweep_reader_open(struct sweep_reader *reader, const char *path, struct status *st)
{
    *reader = (struct sweep_reader){.path = path, .in = fopen(path, "re")};
    return reader->in ? 0 : status_fail(st, STATUS_IO, "cannot read '%s': %s", path, strerror(errno));
}

bool sweep_reader_next(struct sweep_reader *reader)
{
    reader->bytes = getline(&reader->line, &reader->room, reader->in);
    reader->number++;
    return reader->bytes > 0;
}

bool sweep_reader_is_whole(const struct sweep_reader *reader)
{
    return reader->bytes > 0 && reader->line[reader->bytes - 1] == '\n';
}

void sweep_reader_close(struct sweep_reader *reader)
{
    if (reader->in)
        fclose(reader->in);
    free(reader->line);
    *reader = (struct sweep_reader){0};
}

bool sweep_reader_is_shard(const struct sweep_reader *reader, struct shard *shard, int64_t *points,
                           const char **grid)
{
    int at = 0;
    if (sscanf(reader->line, SHARD_LINE "%n", &shard->index, &shard->of, points, &at) != 3 || at == 0)
        return false;
    *grid = reader->line + at;
    return shard->of >= 1 && shard->index >= 0 && shard->index < shard->of;
}

/* A hash that distinguishes grids with the same first and last values. */
static uint32_t hash_grid(const struct grid *grid)
{
    uint32_t hash = 0;
    for (int d = 0; d < grid->dims; d++) {
        const struct setting *setting = &grid->settings->of[grid->option[d]];
        for (int v = 0; v < setting->count; v++)
            hash = lookup_hash(hash, setting->text[v], strlen(setting->text[v]));
    }
    return hash;
}

static void print_shard(const struct grid *grid, struct shard shard, FILE *out)
{
    char value[256];
    fprintf(out, SHARD_LINE "grid %08" PRIx32 ":", shard.index, shard.of, grid->points, hash_grid(grid));
    for (int d = 0; d < grid->dims; d++) {
        const struct setting *setting = &grid->settings->of[grid->option[d]];
        fprintf(out, " %s=%s", option_table[grid->option[d]].name,
                text_one_line(setting->text[0], value, sizeof value));
        if (setting->count > 1)
            fprintf(out, "..%s (%d)", text_one_line(setting->text[setting->count - 1], value, sizeof value),
                    setting->count);
    }
    fputc('\n', out);
}

/* The lines before the rows, as a new text: the line of a shard, and the names of the columns. */
static char *print_head(const struct sweep_file *file)
{
    char *head = NULL;
    size_t bytes = 0;
    struct csv_writer csv = {.output.file = open_memstream(&head, &bytes)};
    if (!csv.output.file)
        return NULL;
    if (file->names_shard)
        print_shard(file->grid, file->shard, csv.output.file);
    columns_write_names(&csv);
    text_end(csv.output.file, &head);
    return head;
}

static void count_row(struct sweep_file *file, const char *status)
{
    bool failed = strncmp(status, RESULT_FAILED, strlen(RESULT_FAILED)) == 0;
    file->rows++;
    file->failed += failed;
    file->refused += !failed && strcmp(status, "ok") != 0;
}

/* Fails with the commands of a row and of its point, from the first word that differs. */
static int fail_command(const struct sweep_reader *line, const char *got, const char *want, struct status *st)
{
    size_t word = 0;
    for (size_t i = 0; got[i] && got[i] == want[i]; i++)
        word = got[i] == ' ' ? i + 1 : word;
    return status_fail(st, STATUS_INPUT,
                       "%s:%d: --resume: the file was made by other options: '%.120s' here, '%.120s' now; "
                       "give the same, or another file",
                       line->path, line->number, got + word, want + word);
}

/* Is a row obviously of this command, with numbers? Then it is not parsed, which would take ten times as
 * long. */
static bool is_plain(const char *line, const char *command)
{
    const char *at = strstr(line, command), *end = at ? at + strlen(command) : NULL;
    return at && at > line && at[-1] == ',' && (*end == ',' || *end == '\n') && strstr(line, ",ok,");
}

/* Checks that an existing row belongs to the next point. Returns 1 if the row's process was killed. */
static int keep_row(struct sweep_file *file, const char *names, struct status *st)
{
    const struct sweep_reader *line = &file->before;
    struct csv_table row = {0};
    struct status own = {0};
    char *text = NULL, *want = grid_command(file->grid, shard_point(file->shard, file->rows));
    int code = 0;
    if (want && is_plain(line->line, want))
        count_row(file, "ok");
    else if (!want || asprintf(&text, "%s%s", names, line->line) < 0 ||
             csv_table_parse(&row, "row", text, strlen(text), &own) == STATUS_NOMEM)
        code = status_nomem(st);
    else if (row.rows != 1)
        code = status_fail(st, STATUS_INPUT, "%s:%d: --resume: this is no row of a sweep", line->path,
                           line->number);
    else {
        const char *got = csv_table_cell(&row, 0, csv_table_column(&row, "command"));
        const char *status = csv_table_cell(&row, 0, csv_table_column(&row, "status"));
        bool killed =
            strncmp(status, RESULT_FAILED, strlen(RESULT_FAILED)) == 0 && strstr(status, RESULT_KILLED);
        code = strcmp(got, want) == 0 ? killed : fail_command(line, got, want, st);
        if (code == 0)
            count_row(file, status);
    }
    csv_table_free(&row);
    free(text);
    free(want);
    return code;
}

/* The length of the part of a line that messages show. */
static int shown(const char *line)
{
    size_t bytes = strcspn(line, "\n");
    return bytes < 200 ? (int)bytes : 199;
}

/* Reads the existing lines: the head, of which `*head` is moved to the missing part, and rows. *bytes is set
 * to the end of the last complete row. */
static int read_rows(struct sweep_file *file, const char **head, int64_t *bytes, struct status *st)
{
    struct sweep_reader *line = &file->before;
    int64_t most = shard_rows(file->shard, file->grid->points);
    const char *names = file->names_shard ? strchr(*head, '\n') + 1 : *head;
    int code = 0;
    while (code == 0 && sweep_reader_next(line)) {
        bool whole = sweep_reader_is_whole(line);
        if (**head && strncmp(*head, line->line, (size_t)line->bytes) != 0)
            return status_fail(st, STATUS_INPUT,
                               "%s:%d: --resume: the file was made by other options or another version: "
                               "'%.*s' here, '%.*s' now",
                               line->path, line->number, shown(line->line), line->line, shown(*head), *head);
        if (**head) {
            *head += line->bytes;
        } else if (whole && file->rows == most) {
            code = status_fail(st, STATUS_INPUT,
                               "%s:%d: --resume: the file was made by other options: these make %" PRId64
                               " rows",
                               line->path, line->number, most);
        } else if (whole) {
            code = keep_row(file, names, st);
        }
        *bytes += whole && code == 0 ? line->bytes : 0;
    }
    return code < 0 ? code : 0;
}

/* Keeps the existing rows, and truncates the file after them; an incomplete head is removed, too. */
static int resume_rows(struct sweep_file *file, const char *path, const char **head, struct status *st)
{
    const char *rest = *head;
    int64_t bytes = 0;
    if (output_fd(&file->csv.output) < 0)
        return status_fail(st, STATUS_INPUT, "--resume needs a file to go on with; add --csv FILE");
    int code = sweep_reader_open(&file->before, path, st);
    if (code == 0)
        code = read_rows(file, &rest, &bytes, st);
    if (code == 0 && !*rest)
        *head = rest;
    return code < 0 ? code : output_cut(&file->csv.output, *rest ? 0 : bytes, st);
}

int sweep_file_open(struct sweep_file *file, const char *path, bool resume, struct status *st)
{
    char *text = print_head(file);
    const char *head = text;
    int code = text ? output_open_growing(&file->csv.output, path, resume, st) : status_nomem(st);
    if (code == 0 && resume)
        code = resume_rows(file, path, &head, st);
    if (code == 0)
        fputs(head, file->csv.output.file);
    free(text);
    if (code < 0)
        sweep_file_abandon(file);
    return code;
}

int sweep_file_write(struct sweep_file *file, const struct result *result, struct status *st)
{
    int64_t point = shard_point(file->shard, file->rows);
    count_row(file, result->status);
    return file->csv.output.file ? rows_write(&file->csv, file->grid, point, result, st) : 0;
}

int sweep_file_flush(struct sweep_file *file, struct status *st)
{
    return file->csv.output.file ? output_flush(&file->csv.output, st) : 0;
}

int sweep_file_commit(struct sweep_file *file, struct status *st)
{
    int code = csv_commit(&file->csv, st);
    sweep_reader_close(&file->before);
    return code;
}

void sweep_file_abandon(struct sweep_file *file)
{
    csv_abandon(&file->csv);
    sweep_reader_close(&file->before);
}
