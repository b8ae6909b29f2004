/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A module's run by its labels: what each phase and layer took, and what moved over which mesh axes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/tally.h"
#include "report/module_print.h"
#include "report/sheet.h"
#include "study/time_breakdown.h"

enum { PART_WORD = 24 };

struct part {
    char phase[PART_WORD], name[MODULE_ROW_TEXT]; /* of a layer its label; or the mesh axes */
    double executions, matmul_s, elementwise_s, collectives_s, exposed_s, bytes;
    double beside_matmul_s, beside_elementwise_s;
};

/* Rows of one part mostly follow each other, so the latest are looked at first. */
static struct part *part_of(struct part part[], int32_t *parts, const char *phase, const char *name)
{
    for (int32_t p = *parts - 1; p >= 0; p--)
        if (strcmp(part[p].phase, phase) == 0 && strcmp(part[p].name, name) == 0)
            return &part[p];
    struct part *made = &part[(*parts)++];
    *made = (struct part){0};
    snprintf(made->phase, sizeof made->phase, "%s", phase);
    snprintf(made->name, sizeof made->name, "%s", name);
    return made;
}

static void add(struct part *part, const struct module_row *row)
{
    *(row->collective >= 0 ? &part->collectives_s
      : row->product       ? &part->matmul_s
                           : &part->elementwise_s) += row->time_s;
    part->executions += row->executions;
    part->exposed_s += row->exposed_s;
    part->beside_matmul_s += row->beside_matmul_s;
    part->beside_elementwise_s += row->beside_elementwise_s;
    part->bytes += row->bytes * row->executions;
}

/* Times that differ by rounding only. */
static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-12;
}

/* Of layers that follow each other and took the same, there is one row for the first to the last, which comes back. */
static int32_t last_alike(const struct part part[], int32_t parts, int32_t first)
{
    int32_t last = first;
    while (last + 1 < parts && strcmp(part[last + 1].phase, part[first].phase) == 0 &&
           near(part[last + 1].matmul_s, part[first].matmul_s) &&
           near(part[last + 1].elementwise_s, part[first].elementwise_s) &&
           near(part[last + 1].collectives_s, part[first].collectives_s) &&
           near(part[last + 1].exposed_s, part[first].exposed_s))
        last++;
    return last;
}

/* An instruction that stands for several layers, in each of them. */
static void add_to_each(struct part part[], int32_t *parts, const char *phase, const struct module_row *row)
{
    struct module_row one = *row;
    int n = row->layers;
    one.executions /= n;
    one.time_s /= n;
    one.exposed_s /= n;
    for (int i = 0; i < n; i++) {
        char layer[PART_WORD];
        snprintf(layer, sizeof layer, "%d", row->layer + (row->backward ? n - 1 - i : i));
        add(part_of(part, parts, phase, layer), &one);
    }
}

static int32_t collect_layers(const struct module_rows *rows, struct part part[])
{
    const struct module *module = &rows->job->module;
    int32_t parts = 0;
    for (int32_t r = 0; r < rows->rows; r++) {
        char phase[PART_WORD] = "", layer[PART_WORD] = "-";
        int32_t instruction = rows->row[r].instruction;
        if (!module_label(module, instruction, "phase", phase, sizeof phase))
            continue;
        module_label(module, instruction, "layer", layer, sizeof layer);
        if (rows->row[r].layer > 0)
            add_to_each(part, &parts, phase, &rows->row[r]);
        else
            add(part_of(part, &parts, phase, layer), &rows->row[r]);
    }
    return parts;
}

static double time_s(const struct part *part)
{
    return part->matmul_s + part->elementwise_s + part->exposed_s;
}

static void put_layers(struct sheet *sheet, const struct part *part, const char *layers)
{
    sheet_row(sheet, part->phase, layers, part->matmul_s, part->elementwise_s, part->collectives_s,
              part->exposed_s);
}

/* Many that differ, as layers with experts do: the mean, the one that took least, and the one that took most. */
static void put_spread(struct sheet *sheet, const struct part part[], int32_t first, int32_t last)
{
    char layers[2 * MODULE_ROW_TEXT + 16];
    struct part mean = part[first];
    int32_t least = first, most = first, n = last - first + 1;
    for (int32_t p = first + 1; p <= last; p++) {
        mean.matmul_s += part[p].matmul_s;
        mean.elementwise_s += part[p].elementwise_s;
        mean.collectives_s += part[p].collectives_s;
        mean.exposed_s += part[p].exposed_s;
        least = time_s(&part[p]) < time_s(&part[least]) ? p : least;
        most = time_s(&part[p]) > time_s(&part[most]) ? p : most;
    }
    mean.matmul_s /= n;
    mean.elementwise_s /= n;
    mean.collectives_s /= n;
    mean.exposed_s /= n;
    snprintf(layers, sizeof layers, "%s to %s, mean", part[first].name, part[last].name);
    put_layers(sheet, &mean, layers);
    snprintf(layers, sizeof layers, "%s, least", part[least].name);
    put_layers(sheet, &part[least], layers);
    snprintf(layers, sizeof layers, "%s, most", part[most].name);
    put_layers(sheet, &part[most], layers);
}

/* The last of the layers of a phase that stand together; how many rows they make. What is of no layer stands alone. */
static int32_t last_of_phase(const struct part part[], int32_t parts, int32_t first, int *different)
{
    int32_t last = first;
    *different = 0;
    for (int32_t p = first; p < parts && strcmp(part[p].phase, part[first].phase) == 0; p = last + 1) {
        if (p > first && (*part[p].name == '-' || *part[first].name == '-'))
            break;
        last = last_alike(part, parts, p);
        ++*different;
    }
    return last;
}

static int print_layers(const struct module_rows *rows, struct part part[], FILE *out, struct status *st)
{
    static const char heads[] = "phase, layer, products (us), others (us), collectives (us), exposed (us)";
    enum { ROWS_MOST = 16 };
    struct sheet sheet = {0};
    int32_t parts = collect_layers(rows, part);
    if (parts == 0)
        return 0;
    fputs("# by phase and layer (of several alike the times of one); collectives from issue to end, of which "
          "the exposed part is what the chip waited\n",
          out);
    sheet_columns(&sheet, heads);
    for (int32_t p = 0, last, end, different; p < parts; p = end + 1) {
        end = last_of_phase(part, parts, p, &different);
        if (different > ROWS_MOST) {
            put_spread(&sheet, part, p, end);
            continue;
        }
        for (; p <= end; p = last + 1) {
            char layers[2 * MODULE_ROW_TEXT + 8];
            last = last_alike(part, parts, p);
            snprintf(layers, sizeof layers, "%s%s%s", part[p].name, last > p ? " to " : "",
                     last > p ? part[last].name : "");
            put_layers(&sheet, &part[p], layers);
        }
    }
    return sheet_end(&sheet, out, st);
}

/* Behind what it is hidden: "products 84%, others 13%, collectives 3%". When the queue was not busy it waited for other
 * collectives, as it does all the time where the chip takes no part in one. */
static void print_behind(const struct part *part, char text[static MODULE_ROW_TEXT])
{
    double busy_s = part->beside_matmul_s + part->beside_elementwise_s;
    double hidden_s = part->collectives_s - part->exposed_s, all_s = fmax(hidden_s, busy_s);
    const struct {
        const char *name;
        double seconds;
    } behind[] = {{"products", part->beside_matmul_s},
                  {"others", part->beside_elementwise_s},
                  {"collectives", all_s - busy_s}};
    int used = 0;
    snprintf(text, MODULE_ROW_TEXT, "-");
    for (size_t i = 0; i < sizeof behind / sizeof *behind && hidden_s > 1e-9 * part->collectives_s; i++)
        if (behind[i].seconds >= 0.005 * all_s)
            used += snprintf(text + used, (size_t)(MODULE_ROW_TEXT - used), "%s%s %.0f%%", used ? ", " : "",
                             behind[i].name, 100 * behind[i].seconds / all_s);
}

static int print_over_axes(const struct module_rows *rows, struct part part[], FILE *out, struct status *st)
{
    static const char heads[] =
        "collective, axes, count (), bytes (B), time (us), hidden (us), exposed (us), hidden behind";
    struct sheet sheet = {0};
    int32_t parts = 0;
    for (int32_t r = 0; r < rows->rows; r++) {
        char text[TALLY_AXES];
        if (rows->row[r].collective < 0)
            continue;
        const char *axes = instruction_axes(rows->job, rows->row[r].collective, text);
        add(part_of(part, &parts, module_row_opcode(rows, &rows->row[r]), axes), &rows->row[r]);
    }
    if (parts == 0)
        return 0;
    fputs("# by collective and mesh axes: bytes of the whole arrays; hidden is what the chip did not wait "
          "for; meanwhile it was busy with what it is hidden behind, or waited for other collectives\n",
          out);
    sheet_columns(&sheet, heads);
    for (int32_t p = 0; p < parts; p++) {
        char behind[MODULE_ROW_TEXT];
        print_behind(&part[p], behind);
        sheet_row(&sheet, part[p].phase, part[p].name, part[p].executions, part[p].bytes,
                  part[p].collectives_s, part[p].collectives_s - part[p].exposed_s, part[p].exposed_s,
                  behind);
    }
    return sheet_end(&sheet, out, st);
}

int module_print_parts(const struct module_rows *rows, FILE *out, struct status *st)
{
    size_t layers = 2 * (size_t)rows->job->step.model.layers; /* of each phase, which rows may stand for */
    struct part *part = malloc(((size_t)rows->rows + layers + 1) * sizeof *part);
    if (!part)
        return status_nomem(st);
    int code = print_layers(rows, part, out, st);
    if (code == 0)
        code = print_over_axes(rows, part, out, st);
    if (code == 0)
        code = module_print_why(rows, out, st);
    free(part);
    return code;
}
