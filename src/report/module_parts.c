/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports a module's run by its labels: the time of each phase and layer, and the traffic over each set of
 * mesh axes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "hlo/tally.h"
#include "report/module_print.h"
#include "report/table.h"
#include "study/time_breakdown.h"

/* Are two times equal up to rounding? */
static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-12;
}

/* Consecutive layers of equal time share one row; returns the last of them. */
static int32_t last_alike(const struct row_groups *layers, int32_t first)
{
    const struct row_group *of = layers->of;
    const struct amounts *a = &of[first].all.sum;
    int32_t last = first;
    for (; last + 1 < layers->count && strcmp(of[last + 1].key[0], of[first].key[0]) == 0; last++) {
        const struct amounts *b = &of[last + 1].all.sum;
        if (!near(b->matmul_s, a->matmul_s) || !near(b->elementwise_s, a->elementwise_s) ||
            !near(b->collective_s, a->collective_s) || !near(b->exposed_s, a->exposed_s))
            break;
    }
    return last;
}

/* Collects rows by layer. An instruction that stands for several layers counts in each of them. */
static void collect_layers(const struct module_rows *rows, struct row_groups *layers)
{
    const struct module *module = &rows->job->module;
    for (const struct module_row *row = rows->row; row < rows->row + rows->rows; row++) {
        char phase[24] = "", layer[24] = "-";
        int n = row->layer > 0 ? row->layers : 1;
        struct waited one = {.most_s = 0};
        if (!module_label(module, row->instruction, "phase", phase, sizeof phase))
            continue;
        module_label(module, row->instruction, "layer", layer, sizeof layer);
        amounts_add(&one.sum, &row->sum, 1.0 / n);
        for (int i = 0; i < n; i++) {
            if (row->layer > 0)
                snprintf(layer, sizeof layer, "%d", row->layer + (row->backward ? n - 1 - i : i));
            row_groups_add(layers, (const char *[]){phase, layer, ""}, row, &one);
        }
    }
}

static void put_layers(struct table *table, const struct row_group *layer, const char *name)
{
    const struct amounts *sum = &layer->all.sum;
    table_row(table, layer->key[0], name, sum->matmul_s, sum->elementwise_s, sum->collective_s,
              sum->exposed_s);
}

static double time_s(const struct row_group *layer)
{
    return layer->all.sum.matmul_s + layer->all.sum.elementwise_s + layer->all.sum.exposed_s;
}

/* For many layers that differ, as layers with experts do, prints the mean, the fastest and the slowest. */
static void put_spread(struct table *table, const struct row_group *first, const struct row_group *last)
{
    char name[2 * SOURCE_TEXT + 16];
    struct row_group mean = *first;
    const struct row_group *least = first, *most = first;
    mean.all.sum = (struct amounts){0};
    for (const struct row_group *p = first; p <= last; p++) {
        amounts_add(&mean.all.sum, &p->all.sum, 1.0 / (double)(last - first + 1));
        least = time_s(p) < time_s(least) ? p : least;
        most = time_s(p) > time_s(most) ? p : most;
    }
    snprintf(name, sizeof name, "%s to %s, mean", first->key[1], last->key[1]);
    put_layers(table, &mean, name);
    snprintf(name, sizeof name, "%s, least", least->key[1]);
    put_layers(table, least, name);
    snprintf(name, sizeof name, "%s, most", most->key[1]);
    put_layers(table, most, name);
}

/* The last of the adjacent layers of a phase, and the number of rows they make. Rows without a layer stand
 * alone. */
static int32_t last_of_phase(const struct row_groups *layers, int32_t first, int *different)
{
    const struct row_group *of = layers->of;
    int32_t last = first;
    *different = 0;
    for (int32_t p = first; p < layers->count && strcmp(of[p].key[0], of[first].key[0]) == 0; p = last + 1) {
        if (p > first && (of[p].key[1][0] == '-' || of[first].key[1][0] == '-'))
            break;
        last = last_alike(layers, p);
        ++*different;
    }
    return last;
}

static int print_layers(const struct module_rows *rows, FILE *out, struct status *st)
{
    enum { ROWS_MOST = 16 };
    struct row_groups layers = {0};
    collect_layers(rows, &layers);
    if (layers.count == 0)
        return row_groups_end(&layers, NULL, out, st);
    struct table table = table_of("phase, layer, products (us), others (us), collectives (us), exposed (us)");
    fputs("# by phase and layer (of several alike the times of one); collectives from issue to end, of which "
          "the exposed part is what the chip waited\n",
          out);
    for (int32_t p = 0, last, end, different; p < layers.count; p = end + 1) {
        end = last_of_phase(&layers, p, &different);
        if (different > ROWS_MOST) {
            put_spread(&table, &layers.of[p], &layers.of[end]);
            continue;
        }
        for (; p <= end; p = last + 1) {
            char name[2 * SOURCE_TEXT + 8];
            last = last_alike(&layers, p);
            snprintf(name, sizeof name, "%s%s%s", layers.of[p].key[1], last > p ? " to " : "",
                     last > p ? layers.of[last].key[1] : "");
            put_layers(&table, &layers.of[p], name);
        }
    }
    return row_groups_end(&layers, &table, out, st);
}

/* Prints the work that hides the collective: "products 84%, others 13%, collectives 3%". While the queue was
 * not busy it waited for other collectives; it does so all the time if the chip takes no part in this one. */
static void print_behind(const struct amounts *sum, char text[static MODULE_ROW_TEXT])
{
    double busy_s = sum->behind_matmul_s + sum->behind_elementwise_s;
    double hidden_s = sum->collective_s - sum->exposed_s, all_s = fmax(hidden_s, busy_s);
    const double seconds[] = {sum->behind_matmul_s, sum->behind_elementwise_s, all_s - busy_s};
    static const char *const names[] = {"products", "others", "collectives"};
    *text = '\0';
    for (int i = 0; i < 3 && hidden_s > 1e-9 * sum->collective_s; i++)
        if (seconds[i] >= 0.005 * all_s)
            text_add(text, MODULE_ROW_TEXT, "%s%s %.0f%%", *text ? ", " : "", names[i],
                     100 * seconds[i] / all_s);
    text_add(text, MODULE_ROW_TEXT, *text ? "" : "-");
}

static int print_over_axes(const struct module_rows *rows, FILE *out, struct status *st)
{
    struct row_groups over = {0};
    for (const struct module_row *row = rows->row; row < rows->row + rows->rows; row++) {
        char text[TALLY_AXES];
        if (row->collective >= 0)
            row_groups_add(&over,
                           (const char *[]){module_row_opcode(rows, row),
                                            instruction_axes(rows->job, row->collective, text), ""},
                           row, NULL);
    }
    if (over.count == 0)
        return row_groups_end(&over, NULL, out, st);
    struct table table = table_of(
        "collective, axes, count (), bytes (B), time (us), hidden (us), exposed (us), hidden behind");
    fputs("# by collective and mesh axes: bytes of the whole arrays; hidden is what the chip did not wait "
          "for; meanwhile it was busy with what it is hidden behind, or waited for other collectives\n",
          out);
    for (const struct row_group *p = over.of; p < over.of + over.count; p++) {
        const struct amounts *sum = &p->all.sum;
        char behind[MODULE_ROW_TEXT];
        print_behind(sum, behind);
        table_row(&table, p->key[0], p->key[1], sum->executions, sum->bytes, sum->collective_s,
                  sum->collective_s - sum->exposed_s, sum->exposed_s, behind);
    }
    return row_groups_end(&over, &table, out, st);
}

int module_print_parts(const struct module_rows *rows, FILE *out, struct status *st)
{
    if (print_layers(rows, out, st) < 0 || print_over_axes(rows, out, st) < 0)
        return st->code;
    return module_print_why(rows, out, st);
}
