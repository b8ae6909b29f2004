/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "settings/measured.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/shell.h"
#include "base/text.h"
#include "collective/collective.h"

/* Columns whose names differ from those of their options. */
static const char *const alias[][2] = {{"operation", "op"}, {"axes", "axis"}};

/* A kind of file: its columns for size and time, and their unit. */
struct kind {
    const char *name;
    const char *size, *time; /* a file with both columns is of this kind */
    double second;           /* unit of the time, in s */
    int (*read_op)(const struct measured *m, struct measured_row *row, struct status *st);
};

/* Sets an option to one value, in place of any others. */
static int set(struct settings *settings, const char *option, const char *text, struct status *st)
{
    settings_drop(settings, option);
    return settings_add(settings, option_by_name(option), text, st);
}

/* Adds an option, or the op; *at moves past its value. */
static int add_word(struct settings *settings, const char *word, const char **at, struct status *st)
{
    const struct option_row *option = option_by_name(word[0] == '-' ? word + strspn(word, "-") : "op");
    char *value = NULL;
    int code = 0;
    if (!option || !option->of_point)
        return status_fail(st, STATUS_INPUT, "'%s' is not an option of a simulation", word);
    if (word[0] == '-' && option->argument && (code = shell_next(at, &value, st)) == 0 && !value)
        code = status_fail(st, STATUS_INPUT, "%s needs a value", word);
    if (code == 0)
        code = set(settings, option->name, value ? value : word[0] == '-' ? "on" : word, st);
    free(value);
    return code;
}

int measured_arguments(struct settings *settings, const char *text, struct status *st)
{
    char *word;
    int code;
    while ((code = shell_next(&text, &word, st)) == 0 && word) {
        code = add_word(settings, word, &text, st);
        free(word);
        if (code)
            return code;
    }
    return code;
}

static int fail_at(const struct measured *m, const struct measured_row *row, struct status *st)
{
    return status_prefix(st, "%s:%d: ", m->table.file, row->line);
}

/* Sets the options of a row: from its command line, if it has one, else from every column with the name of an
 * option. */
static int read_columns(const struct measured *m, struct measured_row *row, struct status *st)
{
    const char *run = csv_table_text(&m->table, row->row, "run"),
               *command = csv_table_text(&m->table, row->row, "command");
    if (!*run && strncmp(command, "run ", 4) == 0)
        run = command + 4;
    if (*run)
        return measured_arguments(&row->settings, run, st) ? fail_at(m, row, st) : 0;
    for (int column = 0; column < m->table.columns; column++) {
        const char *name = m->table.name[column], *cell = csv_table_cell(&m->table, row->row, column);
        for (size_t i = 0; i < sizeof alias / sizeof *alias; i++)
            if (strcmp(name, alias[i][0]) == 0)
                name = alias[i][1];
        const struct option_row *option = option_by_name(name);
        if (!option || !option->of_point || *cell == '\0' || option->kind == OPTION_BYTES)
            continue;
        if (set(&row->settings, option->name, cell, st))
            return fail_at(m, row, st);
    }
    return 0;
}

/* A column of nccl-tests may have the name of one of our options with another meaning ("root"). So only the
 * options of `base` describe the measurement, and the name of the test, if nccl-tests prints it. */
static int read_nccl(const struct measured *m, struct measured_row *row, struct status *st)
{
    const char *test = csv_table_text(&m->table, row->row, "op");
    if (*test && set(&row->settings, "op", test, st) < 0)
        return fail_at(m, row, st);
    const char *op = settings_text(&row->settings, "op");
    struct status unknown = {0};
    const struct collective *collective = op ? collective_by_name(op, &unknown) : NULL;
    row->size_per_chip = collective && collective->id == COLLECTIVE_ALL_TO_ALL;
    return 0;
}

/* The size is that of the input on each of `rank` devices: for an all-gather and an all-to-all the whole
 * array is `rank` times as large. */
static int read_accelerator(const struct measured *m, struct measured_row *row, struct status *st)
{
    static const struct {
        const char *type, *op;
        bool gathers;
    } ops[] = {{"AG", "all-gather", true},
               {"AR", "all-reduce", false},
               {"RS", "reduce-scatter", false},
               {"A2A", "all-to-all", true}};
    static const char *const names[] = {"op_type", "rank", "dtype_bytes"};
    enum { OPS = sizeof ops / sizeof *ops };
    int column[3], op = 0;
    double rank, dtype_bytes;
    for (int i = 0; i < 3; i++)
        if ((column[i] = csv_table_need(&m->table, names[i], st)) < 0)
            return st->code;
    if (csv_table_number(&m->table, row->row, column[1], &rank, st) ||
        csv_table_number(&m->table, row->row, column[2], &dtype_bytes, st))
        return st->code;
    const char *type = csv_table_cell(&m->table, row->row, column[0]);
    while (op < OPS && strcmp(type, ops[op].type) != 0)
        op++;
    if (op == OPS)
        return csv_table_fail(&m->table, row->row, column[0], st, "'%s' is none of AG, AR, RS, A2A", type);
    row->size_bytes *= dtype_bytes * (ops[op].gathers ? rank : 1);
    return set(&row->settings, "op", ops[op].op, st);
}

static const struct kind kinds[] = {
    {"icisim", "size_bytes", "time_s", 1, read_columns},
    {"icisim", "size_bytes", "time_us", 1e-6, read_columns},
    {"accelerator-microbenchmarks", "input_num_elements", "step_time_ms_p50", 1e-3, read_accelerator},
    {"accelerator-microbenchmarks", "input_num_elements", "step_time_ms_avg", 1e-3, read_accelerator},
    {"nccl-tests", "size", "time", 1e-6, read_nccl},
    {"nccl-tests", "size (B)", "time (us)", 1e-6, read_nccl},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const struct kind *kind_of(const struct csv_table *table, struct status *st)
{
    for (int i = 0; i < KINDS; i++)
        if (csv_table_column(table, kinds[i].size) >= 0 && csv_table_column(table, kinds[i].time) >= 0)
            return &kinds[i];
    status_fail(
        st, STATUS_INPUT,
        "%s: no columns of times that are known; name them size_bytes and time_s (or size and time in "
        "microseconds as nccl-tests does, or input_num_elements and step_time_ms_p50)",
        table->file);
    return NULL;
}

static int copy_settings(struct settings *to, const struct settings *from, struct status *st)
{
    settings_init(to);
    for (int i = 0; from && i < option_count; i++)
        for (int v = 0; v < from->of[i].count && option_table[i].of_point; v++)
            if (settings_add(to, &option_table[i], from->of[i].text[v], st))
                return st->code;
    return 0;
}

/* Makes the point of a row from its settings, and from its size if the op has one. */
static int make_point(struct measured_row *row, struct status *st)
{
    struct grid grid;
    char size[32];
    snprintf(size, sizeof size, "%.0fB", row->size_bytes);
    const char *op = settings_text(&row->settings, "op");
    row->has_op = op != NULL;
    bool sized = row->size_bytes > 0 && !(op && strchr(op, '[')); /* the size of a matmul is in its shapes */
    int code = sized ? set(&row->settings, "size", size, st) : 0;
    if (code == 0)
        code = grid_init(&grid, &row->settings, st);
    if (code == 0 && grid.points != 1)
        code =
            status_fail(st, STATUS_INPUT, "a measurement is one point, but its options have several values");
    if (code == 0)
        grid_point(&grid, 0, &row->point);
    return code;
}

static int read_row(struct measured *m, int at, const struct kind *kind, const struct settings *base,
                    struct status *st)
{
    struct measured_row *row = &m->row[m->rows];
    const struct csv_table *table = &m->table;
    *row = (struct measured_row){.row = at, .line = table->line[at]};
    if (csv_table_number(table, at, csv_table_column(table, kind->size), &row->size_bytes, st) ||
        csv_table_number(table, at, csv_table_column(table, kind->time), &row->time_s, st))
        return st->code;
    if (isnan(row->time_s)) {
        m->gap[m->gaps++] = (struct measured_gap){row->line, "time"};
        return 0;
    }
    m->rows++;
    row->time_s *= kind->second;
    row->size_bytes = isnan(row->size_bytes) ? 0 : row->size_bytes;
    if (!(row->time_s > 0))
        return csv_table_fail(table, at, csv_table_column(table, kind->time), st,
                              "a measured time is above 0");
    int code = copy_settings(&row->settings, base, st);
    if (code == 0)
        code = kind->read_op(m, row, st);
    if (code == 0 && !(row->size_bytes >= 0 && row->size_bytes < 0x1p63))
        code = csv_table_fail(table, at, csv_table_column(table, kind->size), st,
                              "%g bytes; a size is 0 to 2^63", row->size_bytes);
    if (code)
        return code;
    return make_point(row, st) ? fail_at(m, row, st) : 0;
}

static int read_rows(struct measured *m, const struct settings *base, struct status *st)
{
    const struct kind *kind = kind_of(&m->table, st);
    if (!kind)
        return st->code;
    m->kind = kind->name;
    if (m->table.rows > MEASURED_ROWS)
        return status_fail(st, STATUS_LIMIT,
                           "%s: %d rows; %d measurements are the most at once: split the file", m->table.file,
                           m->table.rows, MEASURED_ROWS);
    m->row = calloc((size_t)m->table.rows + 1, sizeof *m->row);
    m->gap = calloc((size_t)m->table.rows + 1, sizeof *m->gap);
    if (!m->row || !m->gap)
        return status_nomem(st);
    for (int at = 0; at < m->table.rows; at++) {
        int code = read_row(m, at, kind, base, st);
        if (code)
            return code;
    }
    if (m->rows == 0)
        return status_fail(st, STATUS_INPUT, "%s: no row has a time", m->table.file);
    return 0;
}

int measured_read(struct measured *measured, const char *path, const struct settings *base, struct status *st)
{
    struct file file;
    *measured = (struct measured){0};
    int code = file_read(&file, path, st);
    if (code == 0)
        code = measured_parse(measured, file.name, file.text, file.bytes, base, st);
    file_free(&file);
    return code;
}

/* The name of the collective in "all_reduce_perf", or NULL. */
static const char *collective_of_test(const char *word)
{
    char name[32] = "";
    struct status unknown = {0};
    const char *end = strstr(word, "_perf");
    if (end && end[strlen("_perf")] == '\0')
        snprintf(name, sizeof name, "%.*s", (int)(end - word), word);
    const struct collective *collective = *name ? collective_by_name(name, &unknown) : NULL;
    return collective ? collective->name : NULL;
}

enum { NCCL_WORDS = 64 };

static int split_words(char *line, char *word[static NCCL_WORDS])
{
    int words = 0;
    for (char *next; words < NCCL_WORDS && (next = strtok_r(NULL, " \t\r", &line)) != NULL;)
        word[words++] = next;
    return words;
}

static bool has_word(char *const word[], int words, const char *text)
{
    for (int i = 0; i < words; i++)
        if (strcmp(word[i], text) == 0)
            return true;
    return false;
}

/* Rewrites the output of nccl-tests line by line as CSV. Lines before the comment with the column names, and
 * log lines of libraries in between, become comments. If a line names the test, a column `op` has the
 * collective. Returns false if the text is not such an output. */
static bool write_nccl(char *text, FILE *out)
{
    const char *op = NULL;
    bool begun = false;
    for (char *line; (line = strsep(&text, "\n")) != NULL;) {
        char *word[NCCL_WORDS];
        bool comment = *line == '#', digit = isdigit((unsigned char)line[strspn(line, " \t")]);
        if (!begun && !comment && strchr(line, ','))
            return false; /* a CSV that happens to have such a comment */
        int words = split_words(line + comment, word);
        for (int i = 0; i < words && !begun && !op; i++)
            op = collective_of_test(word[i]);
        bool header = !begun && comment && has_word(word, words, "size") && has_word(word, words, "time") &&
                      has_word(word, words, "busbw");
        if (!header && !(begun && digit))
            fputc('#', out);
        for (int i = 0; i < words && (header || (begun && digit)); i++)
            fprintf(out, "%s%s%s", i ? "," : "", header && has_word(word, i, word[i]) ? "in place " : "",
                    word[i]);
        if (op && (header || (begun && digit)))
            fprintf(out, ",%s", header ? "op" : op);
        fputc('\n', out);
        begun |= header;
    }
    return begun;
}

/* Leaves NULL in *csv if the text is CSV already. */
static int nccl_to_csv(const char *text, char **csv, size_t *bytes, struct status *st)
{
    char *copy = strdup(text);
    FILE *out = copy ? open_memstream(csv, bytes) : NULL;
    bool is_nccl = out && write_nccl(copy, out);
    free(copy);
    if (!out || !text_end(out, csv))
        return status_nomem(st);
    if (!is_nccl) {
        free(*csv);
        *csv = NULL;
    }
    return 0;
}

int measured_parse(struct measured *measured, const char *name, const char *text, size_t bytes,
                   const struct settings *base, struct status *st)
{
    char *csv = NULL;
    size_t csv_bytes = 0;
    *measured = (struct measured){0};
    int code = nccl_to_csv(text, &csv, &csv_bytes, st);
    if (code == 0)
        code = csv_table_parse(&measured->table, name, csv ? csv : text, csv ? csv_bytes : bytes, st);
    free(csv);
    if (code == 0)
        code = read_rows(measured, base, st);
    if (code)
        measured_free(measured);
    return code;
}

void measured_free(struct measured *measured)
{
    for (int i = 0; i < measured->rows; i++)
        settings_free(&measured->row[i].settings);
    free(measured->row);
    free(measured->gap);
    csv_table_free(&measured->table);
    *measured = (struct measured){0};
}

bool measured_same(const struct measured_row *a, const struct measured_row *b)
{
    for (int i = 0; i < option_count; i++) {
        const struct setting *x = &a->settings.of[i], *y = &b->settings.of[i];
        if (i == option_index(option_by_name("size")))
            continue;
        if (x->count != y->count ||
            (x->count > 0 && strcmp(x->text[x->count - 1], y->text[y->count - 1]) != 0))
            return false;
    }
    return true;
}
