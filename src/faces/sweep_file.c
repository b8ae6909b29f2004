/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/sweep_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "faces/rows.h"

#define SHARD_LINE "# icisim sweep: shard %d/%d of %" PRId64 " points, "

/* A text that is printed: the caller's to free. */
struct text {
    char *bytes;
    size_t length;
    FILE *out;
};

static int text_open(struct text *text, struct status *st)
{
    *text = (struct text){0};
    text->out = open_memstream(&text->bytes, &text->length);
    return text->out ? 0 : status_nomem(st);
}

static int text_close(struct text *text, struct status *st)
{
    return text_end(text->out, &text->bytes) ? 0 : status_nomem(st);
}

/* Fowler, Noll and Vo's hash, FNV-1a: tells grids apart whose first and last values are alike. */
static uint64_t hash_grid(const struct grid *grid)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (int d = 0; d < grid->dims; d++) {
        const struct setting *setting = &grid->settings->of[grid->option[d]];
        for (int v = 0; v < setting->count; v++)
            for (const char *c = setting->text[v];; c++) {
                hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
                if (!*c)
                    break;
            }
    }
    return hash;
}

int sweep_file_print_shard(const struct grid *grid, struct shard shard, FILE *out)
{
    char value[256];
    fprintf(out, SHARD_LINE "grid %016" PRIx64 ":", shard.index, shard.of, grid->points, hash_grid(grid));
    for (int d = 0; d < grid->dims; d++) {
        const struct setting *setting = &grid->settings->of[grid->option[d]];
        fprintf(out, " %s=%s", option_table[grid->option[d]].name,
                text_one_line(setting->text[0], value, sizeof value));
        if (setting->count > 1)
            fprintf(out, "..%s (%d)", text_one_line(setting->text[setting->count - 1], value, sizeof value),
                    setting->count);
    }
    return fputc('\n', out);
}

bool sweep_file_parse_shard(const char *line, struct shard *shard, int64_t *points, const char **grid)
{
    int at = 0;
    if (sscanf(line, SHARD_LINE "%n", &shard->index, &shard->of, points, &at) != 3 || at == 0)
        return false;
    *grid = line + at;
    return shard->of >= 1 && shard->index >= 0 && shard->index < shard->of;
}

/* What stands before the rows. */
static int print_head(const struct sweep_file *file, struct text *head, struct status *st)
{
    if (text_open(head, st) < 0)
        return st->code;
    struct csv_writer csv = {.output.file = head->out};
    if (file->shard.of > 1)
        sweep_file_print_shard(file->grid, file->shard, head->out);
    columns_write_names(&csv);
    return text_close(head, st);
}

/* How the command of a row stands in it, with the commas of its cell but without the last one. */
static int print_command(const struct sweep_file *file, int64_t row, struct text *cell, struct status *st)
{
    char *command = grid_command(file->grid, shard_point(file->shard, row));
    if (!command || text_open(cell, st) < 0) {
        free(command);
        return status_nomem(st);
    }
    struct csv_writer csv = {.output.file = cell->out, .cells = 1};
    csv_text(&csv, command);
    free(command);
    return text_close(cell, st);
}

static ssize_t read_descriptor(void *cookie, char *bytes, size_t room)
{
    ssize_t n;
    do
        n = read(*(int *)cookie, bytes, room);
    while (n < 0 && errno == EINTR);
    return n;
}

/* A stream over a descriptor, that leaves that open: closing any descriptor of a file ends the lock on it. */
static FILE *read_stream(int *fd)
{
    cookie_io_functions_t functions = {.read = read_descriptor};
    return lseek(*fd, 0, SEEK_SET) == 0 ? fopencookie(fd, "r", functions) : NULL;
}

/* A cell of a row that is there: a new text, NULL if it is no row. */
static char *cell_of(const struct sweep_file *file, const struct text *head, const char *line,
                     const char *column)
{
    /* the names of the columns, and the row, as a table */
    struct csv_table table = {0};
    struct status own = {0};
    struct text both = {0};
    char *cell = NULL;
    const char *names = file->shard.of > 1 ? strchr(head->bytes, '\n') + 1 : head->bytes;
    if (text_open(&both, &own) == 0) {
        fprintf(both.out, "%s%s", names, line);
        if (text_close(&both, &own) == 0 &&
            csv_table_parse(&table, "row", both.bytes, both.length, &own) == 0 && table.rows == 1)
            cell = strdup(csv_table_cell(&table, 0, csv_table_column(&table, column)));
    }
    csv_table_free(&table);
    free(both.bytes);
    return cell;
}

void sweep_file_count(struct sweep_file *file, const char *status)
{
    bool ok = strcmp(status, "ok") == 0, failed = strncmp(status, RESULT_FAILED, strlen(RESULT_FAILED)) == 0;
    file->failed += failed;
    file->refused += !ok && !failed;
}

/* Counts a row that is there; most have numbers, and need not be taken apart. */
static int count_row(struct sweep_file *file, const struct text *head, const char *line, struct status *st)
{
    if (strstr(line, ",ok,"))
        return 0;
    char *status = cell_of(file, head, line, "status");
    if (!status)
        return status_nomem(st);
    sweep_file_count(file, status);
    free(status);
    return 0;
}

/* Says the commands of a row and of the point that belongs there, from the first word on that differs. */
static int fail_row(const struct sweep_file *file, const struct text *head, const char *line, int number,
                    const char *path, struct status *st)
{
    char *got = cell_of(file, head, line, "command");
    char *want = grid_command(file->grid, shard_point(file->shard, file->rows));
    int code = STATUS_INPUT;
    if (!want) {
        code = status_nomem(st);
    } else if (!got) {
        code = status_fail(st, code, "%s:%d: --resume: this is no row of a sweep", path, number);
    } else {
        size_t word = 0;
        for (size_t i = 0; got[i] && got[i] == want[i]; i++)
            word = got[i] == ' ' ? i + 1 : word;
        code = status_fail(
            st, code,
            "%s:%d: --resume: the file was made by other options: '%.120s' here, '%.120s' now; give "
            "the same, or another file",
            path, number, got + word, want + word);
    }
    free(got);
    free(want);
    return code;
}

/* A line that must be there as it is; `*at` is moved beyond it. */
static int check_head(const char **at, const char *line, int number, const char *path, struct status *st)
{
    size_t n = strlen(line);
    char got[200], want[200];
    if (strncmp(*at, line, n) == 0) {
        *at += n;
        return 0;
    }
    snprintf(want, sizeof want, "%.*s", (int)strcspn(*at, "\n"), *at);
    snprintf(got, sizeof got, "%.*s", (int)strcspn(line, "\n"), line);
    return status_fail(
        st, STATUS_INPUT,
        "%s:%d: --resume: the file was made by other options or another version: '%s' here, '%s' now", path,
        number, got, want);
}

/* Reads the lines that are there. *bytes gets where the last whole row ends, 0 if the head is not whole. */
static int read_rows(struct sweep_file *file, FILE *in, const struct text *head, const char *path,
                     int64_t *bytes, struct status *st)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    const char *at = head->bytes;
    int code = 0, number = 1;
    int64_t end = 0, most = shard_rows(file->shard, file->grid->points);
    for (; code == 0 && (n = getline(&line, &room, in)) > 0 && line[n - 1] == '\n'; number++) {
        struct text cell = {0};
        end += n;
        if (*at) {
            code = check_head(&at, line, number, path, st);
        } else if (file->rows == most) {
            code = status_fail(st, STATUS_INPUT,
                               "%s:%d: --resume: the file was made by other options: these make %" PRId64
                               " rows",
                               path, number, most);
        } else if ((code = print_command(file, file->rows, &cell, st)) == 0) {
            const char *found = strstr(line, cell.bytes), *next = found ? found + cell.length : NULL;
            if (!found || (*next != ',' && *next != '\n'))
                code = fail_row(file, head, line, number, path, st);
            else
                code = count_row(file, head, line, st);
            file->rows++;
        }
        free(cell.bytes);
    }
    if (code == 0 && n > 0 && *at && strncmp(at, line, (size_t)n) != 0)
        code = check_head(&at, line, number, path, st);
    free(line);
    *bytes = *at ? 0 : end;
    return code;
}

/* Keeps the rows that are there, and cuts off what is after them. */
static int resume_rows(struct sweep_file *file, const struct text *head, const char *path, struct status *st)
{
    int fd = output_fd(&file->csv.output);
    int64_t bytes = 0;
    if (fd < 0)
        return status_fail(st, STATUS_INPUT, "--resume needs a file to go on with; add --csv FILE");
    FILE *in = read_stream(&fd);
    if (!in)
        return status_fail(st, STATUS_IO, "cannot read '%s': %s", path, strerror(errno));
    int code = read_rows(file, in, head, path, &bytes, st);
    fclose(in);
    return code < 0 ? code : output_cut(&file->csv.output, bytes, st);
}

int sweep_file_open(struct sweep_file *file, const char *path, const struct grid *grid, struct shard shard,
                    bool resume, struct status *st)
{
    struct text head = {0};
    *file = (struct sweep_file){.grid = grid, .shard = shard};
    int code = print_head(file, &head, st);
    if (code == 0)
        code = output_open_growing(&file->csv.output, path, resume, st);
    if (code == 0 && resume)
        code = resume_rows(file, &head, path, st);
    if (code == 0 && (!resume || lseek(output_fd(&file->csv.output), 0, SEEK_CUR) == 0))
        fputs(head.bytes, file->csv.output.file);
    free(head.bytes);
    if (code < 0)
        sweep_file_abandon(file);
    return code;
}

int sweep_file_write(struct sweep_file *file, const struct result *result, struct status *st)
{
    return rows_write_one(&file->csv, file->grid, shard_point(file->shard, file->rows++), result, st);
}

int sweep_file_flush(struct sweep_file *file, struct status *st)
{
    return output_flush(&file->csv.output, st);
}

int sweep_file_commit(struct sweep_file *file, struct status *st)
{
    return csv_commit(&file->csv, st);
}

void sweep_file_abandon(struct sweep_file *file)
{
    csv_abandon(&file->csv);
}
