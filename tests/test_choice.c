/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What XLA would choose, against what it chose: every row with an emitter of facts/xla-collectives.md's table, where that is at hand
 * (../shared); and rows of our own, of slices that it does not have.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "choices.h"
#include "collective/choice.h"
#include "suite.h"

/* "x*y0*c" of a slice whose axis is cut in so many parts: y0 are the high digits, y1 the low ones; as rings, in the slice's order. */
struct ground {
    struct slice slice;
    struct ring ring[COLLECTIVE_RINGS];
    const struct ring *rings[COLLECTIVE_RINGS];
    int count;
    struct choice_case of;
};

static void open_rings(struct ground *g, const char *axes, int low)
{
    struct status st = {0};
    for (int axis = 0; axis < g->slice.axes; axis++) {
        const char *in = strchr(axes, slice_axis_name(axis));
        struct ring *ring = &g->ring[g->count];
        if (!in)
            continue;
        if (isdigit((unsigned char)in[1])) {
            struct side side = {.axis = axis,
                                .n = in[1] == '0' ? g->slice.len[axis] / low : low,
                                .stride = in[1] == '0' ? low : 1};
            OKAY(ring_of_part(ring, &g->slice, &side, &st), st);
        } else {
            OKAY(ring_of_axis(ring, &g->slice, axis, &st), st);
        }
        g->rings[g->count++] = ring;
    }
}

static void open_ground(struct ground *g, const char *shape, const char *wrap, const char *axes, int low)
{
    struct status st = {0};
    int len[SLICE_AXES], n = slice_parse_shape(shape, len, &st);
    bool wraps[SLICE_AXES] = {0};
    *g = (struct ground){0};
    for (int axis = 0; axis < n; axis++)
        wraps[axis] = strlen(wrap) == SLICE_AXES && wrap[axis] == 'T';
    OKAY(slice_init(&g->slice, n, len, wraps, 1e9, 1e-6, &st), st);
    open_rings(g, axes, low);
    g->of.slice = &g->slice;
    g->of.group = choice_group_of(&g->slice, g->rings, g->count);
}

static void close_ground(struct ground *g)
{
    for (int r = 0; r < g->count; r++)
        ring_free(&g->ring[r]);
    slice_free(&g->slice);
}

static enum collective_id collective_id_of(const char *jax)
{
    struct status st = {0};
    const struct collective *collective = collective_by_name(jax, &st);
    CU_ASSERT_PTR_NOT_NULL_FATAL(collective);
    return collective->id;
}

/* The axes of the colours' phases, and which way round: "yx+;yx-". XLA leaves out the orders of a second half: {0 0}. */
static void print_orders(const struct collective_config *config, char *text)
{
    for (int c = 0; c < config->colours; c++) {
        for (int p = 0; p < config->phases; p++)
            text += sprintf(text, "%c",
                            config->colour[c].axis[p] >= 0                  ? 'x' + config->colour[c].axis[p]
                            : config->colour[c].axis[p] == CONFIG_AXIS_CHIP ? 'c'
                                                                            : '.');
        text += sprintf(text, "%s;", !config->sparse_core ? "" : config->colour[c].sign > 0 ? "+" : "-");
    }
}

static void read_orders(const char *row, int colours, char *text)
{
    char *begin = text, colour[16] = "";
    for (int c = 0; *row; c++) {
        char *at = colour;
        for (; *row != '}'; row++) {
            bool first = *row == '{' || *row == ' ';
            if (first && isdigit((unsigned char)row[1]))
                *at++ = "yxz"[row[1] - '0'];
            else if (first)
                *at++ = row[1] == 'E' ? '.' : row[1] == 'D' ? 'c' : (char)tolower(row[1]);
            if (*row == ':')
                at[1] = row[2] == 'C' ? '-' : '+';
        }
        bool sparse = strchr("+-", at[1]) && at[1];
        char sign = at[1];
        *at = '\0';
        if (colour[0] == colour[1] && colour[0]) /* as the first half has it */
            snprintf(colour, sizeof colour, "%.*s", (int)strcspn(begin, ";"),
                     c == colours / 2 ? begin : strchr(begin, ';') + 1);
        text += sprintf(text, "%s", colour);
        text += sprintf(text, sparse ? "%c;" : ";", sign);
        memset(colour, 0, sizeof colour);
        row += 1 + (row[1] == ',');
    }
    *text = '\0';
}

/* The reader's case. */
static void open_row(struct ground *g, const struct csv_table *table, int row)
{
    struct status st = {0};
    const char *topology = csv_table_text(table, row, "topology"), *mesh = csv_table_text(table, row, "mesh"),
               *axes = choices_axes(topology, mesh, csv_table_text(table, row, "axes")),
               *split = strchr(mesh, ':');
    bool v7x = strcmp(csv_table_text(table, row, "chip"), "v7x") == 0, inside = strchr(axes, 'c') != NULL;
    int low = strncmp(mesh, "logical", 7) == 0 ? 8 : split ? atoi(split + 1) : 1;
    open_ground(g, topology, csv_table_text(table, row, "wrap"), axes, low);
    g->of.chip = csv_table_text(table, row, "chip");
    g->of.collective = collective_id_of(csv_table_text(table, row, "coll"));
    g->of.dtype = dtype_info((enum dtype_id)dtype_by_name(csv_table_text(table, row, "dtype"), &st));
    g->of.group.several = v7x;
    g->of.group.all_devices = !v7x || inside;
    g->of.group.devices *= v7x && inside ? 2 : 1;
    g->of.group.reordered = v7x && strncmp(mesh, "flat", 4) == 0;
    bool shards = g->of.collective == COLLECTIVE_ALL_GATHER || g->of.collective == COLLECTIVE_ALL_TO_ALL;
    g->of.bytes = atof(csv_table_text(table, row, "in_bytes")) * (shards ? g->of.group.devices : 1);
}

static bool is_row(const struct csv_table *table, int row, const struct ground *g)
{
    struct status st = {0};
    struct collective_config config;
    bool found;
    char orders[256] = "", want[256] = "";
    const char *dims = csv_table_text(table, row, "dim_used"),
               *colours = csv_table_text(table, row, "colors");
    OKAY(choice_find(&g->of, &config, &found, &st), st);
    if (!found)
        return false;
    print_orders(&config, orders);
    read_orders(dims, config.colours, want);
    return g->of.group.devices == atoi(csv_table_text(table, row, "gsize")) &&
           strcmp(config.emitter, csv_table_text(table, row, "emitter")) == 0 &&
           strcmp(config.strategy, csv_table_text(table, row, "strategy")) == 0 &&
           config.colours == atoi(colours) && config.phases == atoi(csv_table_text(table, row, "phases")) &&
           (!*dims || strcmp(orders, want) == 0);
}

static void compare(const char *path, int expected)
{
    struct csv_table table = {0};
    struct status st = {0};
    int rows = 0, right = 0;
    OKAY(csv_table_read(&table, path, &st), st);
    for (int row = 0; row < table.rows; row++) {
        struct ground g;
        if (!*csv_table_text(&table, row, "emitter"))
            continue;
        open_row(&g, &table, row);
        bool alike = is_row(&table, row, &g);
        if (!alike)
            fprintf(stderr, "%s:%d: %s %s %s %s %s B\n", path, table.line[row], g.of.chip,
                    csv_table_text(&table, row, "topology"), csv_table_text(&table, row, "axes"),
                    csv_table_text(&table, row, "coll"), csv_table_text(&table, row, "in_bytes"));
        right += alike;
        rows++;
        close_ground(&g);
    }
    CU_ASSERT_EQUAL(rows, expected);
    CU_ASSERT_EQUAL(right, expected);
    csv_table_free(&table);
}

static void as_xla_chose(void)
{
    if (access(CHOICES, R_OK) == 0)
        compare(CHOICES, 2509);
}

static void on_long_slices_and_odd_groups(void)
{
    compare("tests/golden/xla_choices.csv", 317);
}

SUITE("choice", TEST(as_xla_chose), TEST(on_long_slices_and_odd_groups))
