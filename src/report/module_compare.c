/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/module_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum { MOST = 20 };

/* Finds the entry of a name, or adds it; NULL if memory is out. */
static struct compared *find(struct module_compare *compare, const char *name)
{
    const struct lookup_entry *at = NULL;
    uint32_t hash = lookup_hash(0, name, strlen(name));
    for (int32_t i; (i = lookup_next(&compare->known, hash, &at)) >= 0;)
        if (strcmp(compare->of[i].name, name) == 0)
            return &compare->of[i];
    if (!GROW(compare->of, compare->count, compare->room) ||
        lookup_add(&compare->known, hash, compare->count) < 0)
        return NULL;
    struct compared *made = &compare->of[compare->count];
    *made = (struct compared){.name = strdup(name)};
    compare->count += made->name != NULL;
    return made->name ? made : NULL;
}

int module_compare_add(struct module_compare *compare, int side, const struct module_rows *rows,
                       struct status *st)
{
    const struct module *module = &rows->job->module;
    for (const struct module_row *row = rows->row; row < rows->row + rows->rows; row++) {
        char name[SOURCE_TEXT];
        if (!*module_op_name(module, row->instruction, name))
            snprintf(name, sizeof name, "(%s)", module_row_opcode(rows, row));
        struct compared *of = find(compare, name);
        if (!of)
            return status_nomem(st);
        of->held_s[side] += row->sum.matmul_s + row->sum.elementwise_s + row->sum.exposed_s;
    }
    return 0;
}

/* 0 for what differs by rounding only. */
static double slower_s(const struct compared *of)
{
    double by_s = of->held_s[1] - of->held_s[0];
    return fabs(by_s) > 1e-9 * of->held_s[0] ? by_s : 0;
}

/* Sorts larger values first; ties by name. */
static int by(double left, double right, const void *a, const void *b)
{
    if (left != right)
        return left < right ? 1 : -1;
    return strcmp(((const struct compared *)a)->name, ((const struct compared *)b)->name);
}

static int differing_first(const void *a, const void *b)
{
    return by(fabs(slower_s(a)), fabs(slower_s(b)), a, b);
}

static int slower_first(const void *a, const void *b)
{
    return by(slower_s(a), slower_s(b), a, b);
}

int module_compare_print(struct module_compare *compare, FILE *out, struct status *st)
{
    struct table table = table_of("op_name, before (us), after (us), difference (us)");
    int32_t shown = compare->count < MOST ? compare->count : MOST;
    double rest_s[2] = {0}, all_s[2] = {0};
    qsort(compare->of, (size_t)compare->count, sizeof *compare->of, differing_first);
    qsort(compare->of, (size_t)shown, sizeof *compare->of, slower_first);
    for (int32_t i = 0; i < compare->count; i++) {
        const struct compared *of = &compare->of[i];
        if (i < shown)
            table_row(&table, of->name, of->held_s[0], of->held_s[1], slower_s(of));
        for (int side = 0; side < 2; side++) {
            all_s[side] += of->held_s[side];
            rest_s[side] += i < shown ? 0 : of->held_s[side];
        }
    }
    if (compare->count > shown)
        table_row(&table, "others", rest_s[0], rest_s[1], rest_s[1] - rest_s[0]);
    table_row(&table, "all", all_s[0], all_s[1], all_s[1] - all_s[0]);
    fprintf(out,
            "# by op_name: what held the step up, computes and what is exposed of collectives; the %d of %d "
            "that differ most, what has become slower first\n",
            shown, compare->count);
    return table_end(&table, out, st);
}

void module_compare_free(struct module_compare *compare)
{
    for (int32_t i = 0; i < compare->count; i++)
        free(compare->of[i].name);
    free(compare->of);
    lookup_free(&compare->known);
    *compare = (struct module_compare){0};
}
