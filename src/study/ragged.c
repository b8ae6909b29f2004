/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/collective_job.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/random.h"

/* A random number in [0.5, 1.5) for each index. */
static double weight(uint64_t seed, uint64_t index)
{
    uint64_t state = random_next(&seed) + index;
    return 0.5 + random_unit(&state);
}

/* Divides the elements among pairs by weight; elements left over by rounding go to the first pairs, one each. */
static int deal(const char *seed_text, int n, int64_t elements, int64_t pair_elements[], struct status *st)
{
    char *end;
    errno = 0;
    uint64_t seed = strtoull(seed_text, &end, 10), pairs = (uint64_t)n * (uint64_t)n;
    if (end == seed_text || *end || errno)
        return status_fail(st, STATUS_INPUT,
                           "--pair-sizes random:%s: the seed is a whole number, as in random:1", seed_text);
    double sum = 0;
    for (uint64_t i = 0; i < pairs; i++)
        sum += weight(seed, i);
    int64_t left = elements;
    for (uint64_t i = 0; i < pairs; i++) {
        pair_elements[i] = (int64_t)floor((double)elements * (weight(seed, i) / sum));
        if (pair_elements[i] > left)
            pair_elements[i] = left;
        left -= pair_elements[i];
    }
    for (uint64_t i = 0; left > 0; i = (i + 1) % pairs, left--)
        pair_elements[i]++;
    return 0;
}

/* Reads a whole number from 0 to `most`. */
static int read_whole(const struct csv_table *table, int row, int column, double most, double *value,
                      struct status *st)
{
    int code = csv_table_number(table, row, column, value, st);
    if (code == 0 && !(*value >= 0 && *value <= most && floor(*value) >= *value))
        code = csv_table_fail(table, row, column, st, "must be a whole number from 0 to %.0f", most);
    return code;
}

static int read_table(const struct csv_table *table, int n, const struct dtype *dtype,
                      int64_t pair_elements[], double *sum_bytes, struct status *st)
{
    int from_column = csv_table_need(table, "from", st), to_column = csv_table_need(table, "to", st);
    int size_column = csv_table_need(table, "size_bytes", st);
    if (st->code < 0)
        return st->code;
    for (int row = 0; row < table->rows; row++) {
        double from = 0, to = 0, bytes = 0;
        int code = read_whole(table, row, from_column, n - 1, &from, st);
        if (code == 0)
            code = read_whole(table, row, to_column, n - 1, &to, st);
        if (code == 0)
            code = read_whole(table, row, size_column, 0x1p53, &bytes, st);
        if (code < 0)
            return code;
        double elements = bytes / dtype->bytes;
        if (floor(elements) < elements)
            return csv_table_fail(table, row, size_column, st, "is not a whole number of %s elements",
                                  dtype->name);
        pair_elements[(size_t)from * (size_t)n + (size_t)to] += (int64_t)elements;
        *sum_bytes += bytes;
    }
    return 0;
}

static int read_file(const char *path, int n, int64_t elements, const struct dtype *dtype,
                     int64_t pair_elements[], struct status *st)
{
    struct csv_table table = {0};
    double sum_bytes = 0, size_bytes = (double)elements * dtype->bytes;
    int code = csv_table_read(&table, path, st);
    if (code == 0)
        code = read_table(&table, n, dtype, pair_elements, &sum_bytes, st);
    if (code == 0 && (sum_bytes < size_bytes || sum_bytes > size_bytes))
        code = status_fail(st, STATUS_INPUT, "--size is the sum over all pairs; in %s that is %.0fB", path,
                           sum_bytes);
    csv_table_free(&table);
    return code;
}

int ragged_read(const char *text, int n, int64_t elements, const struct dtype *dtype, int64_t **pair_elements,
                struct status *st)
{
    static const char random[] = "random:";
    if (!text)
        return status_fail(
            st, STATUS_INPUT,
            "--pair-sizes is missing: a CSV file with from,to,size_bytes, random:1 or uniform");
    if (n > RAGGED_CHIPS)
        return status_fail(
            st, STATUS_LIMIT,
            "ragged-all-to-all in groups of %d chips: every pair has a transfer of its own; take groups "
            "of %d chips or fewer",
            n, RAGGED_CHIPS);
    int64_t *sizes = calloc((size_t)n * (size_t)n, sizeof *sizes);
    if (!sizes)
        return status_nomem(st);
    *pair_elements = sizes;
    if (strncmp(text, random, strlen(random)) == 0)
        return deal(text + strlen(random), n, elements, sizes, st);
    if (strcmp(text, "uniform") != 0)
        return read_file(text, n, elements, dtype, sizes, st);
    for (int64_t i = 0, pairs = (int64_t)n * n; i < pairs; i++) /* the remainder goes to the first pairs */
        sizes[i] = elements / pairs + (i < elements % pairs);
    return 0;
}
