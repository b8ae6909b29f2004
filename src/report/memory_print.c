/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/memory_print.h"

#include <math.h>

#include "report/table.h"

static void put(struct table *table, const char *what, double bytes, double limit_bytes)
{
    table_row(table, what, bytes, limit_bytes > 0 ? bytes / limit_bytes : NAN);
}

static void put_elsewhere(struct table *table, const char *what, double bytes)
{
    if (bytes > 0)
        put(table, what, bytes, NAN);
}

static int print_sums(const struct memory_analysis *m, double limit_bytes, FILE *out, struct status *st)
{
    struct table table = table_of("memory, bytes (B), of the limit (%)");
    fputs(
        "# memory of a device: buffers padded to their tiles, by live ranges in the order of the schedule\n",
        out);
    put(&table, "arguments", m->arguments_bytes, limit_bytes);
    put(&table, "outputs that no argument is donated for", m->outputs_bytes, limit_bytes);
    put(&table, "temporaries at most", m->temporaries_bytes, limit_bytes);
    put(&table, "peak of HBM", m->peak_bytes, limit_bytes);
    if (limit_bytes > 0)
        put(&table, "limit of HBM", limit_bytes, limit_bytes);
    put_elsewhere(&table, "VMEM, as XLA counts (in place: twice)", m->vmem_bytes);
    put_elsewhere(&table, "CMEM, as XLA counts (in place: twice)", m->cmem_bytes);
    put_elsewhere(&table, "arguments and outputs on the host", m->host_bytes);
    put_elsewhere(&table, "peak_memory_in_bytes", m->xla_peak_bytes);
    int code = table_end(&table, out, st);
    if (code == 0 && m->xla_peak_bytes > m->peak_bytes)
        fputs("# peak_memory_in_bytes, as XLA counts it, has what is on the host, and the temporaries of "
              "VMEM where these are more than those of HBM\n",
              out);
    return code;
}

int memory_print(const struct listing *text, const struct chip *chip, FILE *out, struct status *st)
{
    const struct memory_analysis *m = &text->memory;
    if (!text->module.scheduled)
        return status_fail(st, STATUS_INPUT,
                           "%s: --memory needs a schedule (is_scheduled=true); take compiled.as_text()",
                           text->path);
    if (print_sums(m, chip_device_hbm_bytes(chip), out, st) < 0)
        return st->code;
    fputs("# the largest buffers in HBM at its peak\n", out);
    struct table table = table_of("buffer, shape, bytes (B), source, op_name");
    for (const struct memory_buffer *b = m->largest; b < m->largest + m->buffers; b++)
        table_row(&table, b->name, b->shape, b->bytes, b->source, b->op_name);
    return table_end(&table, out, st);
}
