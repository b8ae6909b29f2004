/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collectives go as their text says: for what XLA:TPU chose in thousands of programs (facts/xla-collectives.md), a module with such a
 * collective is read, and the schedule that is built has the colours, phases and orders of the row.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "choices.h"
#include "compile/lower_own.h"
#include "hlo/hlo_read.h"
#include "suite.h"

#define TEXTS "../shared/hlo/tpu/collectives"

enum { TEXT = 1 << 16, WORD = 64, PHASES_MOST = 8 };

/* What is built: of each colour the axes along which it moves, one after the other. */
struct built {
    int rings, colours;
    char axes[COLLECTIVE_COLOURS][PHASES_MOST];
};

struct ground {
    struct slice slice;
    struct placement placement;
    struct module module;
    struct lower_options options;
    struct lower lower;
};

static void open_ground(struct ground *g, const char *shape, const char *wrap, const char *text)
{
    struct status st = {0};
    struct chip chip;
    OKAY(chip_load(&chip,
                   strchr(shape + strcspn(shape, "x") + (strchr(shape, 'x') != NULL), 'x') ? "v5p" : "v6e",
                   CHIP_SPEC, &st),
         st);
    OKAY(chip_slice(&chip, shape, wrap, &g->slice, &st), st);
    if (slice_is_twisted(&g->slice)) /* what is counted here are the rings of a plain torus */
        OKAY(slice_twist(&g->slice, false, &st), st);
    OKAY(hlo_read(&g->module, "row", text, strlen(text), NULL, &st), st);
    int cores = g->module.partitions / g->slice.chips;
    OKAY(placement_init(&g->placement, &g->slice, g->module.partitions, cores, NULL, NULL, &st), st);
    roofline_init(&g->options.roofline, &chip);
    g->options.kind = RING_BIDI_HALF;
    OKAY(lower_init(&g->lower, &g->module, &g->placement, &g->options, &st), st);
    chip_free(&chip);
}

static void close_ground(struct ground *g)
{
    lower_free(&g->lower);
    placement_free(&g->placement);
    module_free(&g->module);
    slice_free(&g->slice);
}

/* The axis along which some chip sends; a part of a group may have no axis of its own. */
static char axis_of(const struct program *program, const struct op *op)
{
    for (int chip = 0; chip < program->slice->chips; chip++) {
        if (!op_takes_part(program, op, chip))
            continue;
        int to = op_destination(program, op, chip);
        for (int a = 0; a < program->slice->axes; a++)
            if (slice_coord(program->slice, to, a) != slice_coord(program->slice, chip, a))
                return slice_axis_name(a);
    }
    return '?';
}

static void examine(const struct program *program, int rings, struct built *built)
{
    *built = (struct built){.rings = rings};
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        if (op->payload == NO_PAYLOAD)
            continue;
        const struct pick *part = &program->payload[op->payload].a.pick[rings];
        int colour = part->kind == PICK_FIXED ? part->offset : 0;
        char *axes = built->axes[colour], axis = axis_of(program, op);
        size_t n = strlen(axes);
        built->colours = colour >= built->colours ? colour + 1 : built->colours;
        if (n == 0 || (axes[n - 1] != axis && n + 1 < PHASES_MOST))
            axes[n] = axis;
    }
}

/* The collective, with numbers, by the schedule that the lowering chooses. False where its groups are one chip each. */
static bool build(struct ground *g, int32_t collective, struct built *built)
{
    struct status st = {0};
    struct program program;
    const struct layout *layout;
    enum opcode whole = opcode_info(module_at(&g->module, collective)->opcode)->whole;
    struct collective_spec spec = {
        .kind = g->options.kind, .elements = 1 << 12, .elem_bytes = 1, .combine = COMBINE_SUM};
    OKAY(lower_layout(&g->lower, collective, &layout, &st), st);
    if (layout->rings == 0)
        return false;
    spec.rings = layout->rings;
    for (int r = 0; r < layout->rings; r++)
        spec.ring[r] = &layout->ring[r];
    OKAY(lower_schedule(&g->lower, collective, (struct lowered_share){.whole = whole}, &spec, &st), st);
    program_init(&program, &g->slice);
    OKAY(collective_by_name(opcode_info(whole)->name, &st)->build(&spec, &program, -1, NULL, &st), st);
    examine(&program, spec.rings, built);
    program_free(&program);
    return true;
}

/* "{Xm:CWHP Ym:CW}{Xm:CCWHP Ym:CCW}" as the text has it. */
static void write_offload(const char *orders, FILE *out)
{
    fputs("\"collective_offload_config\":{\"x\":{\"ici_strategy_config\":{\"color_strategies\":[", out);
    for (const char *at = orders; *at; at++) {
        if (*at == '{')
            fprintf(out, "%s{\"phase_rings\":[", at > orders ? "," : "");
        bool first = *at == '{' || *at == ' ';
        const char *way = strchr(at, ':');
        if (first && at[1] != 'E')
            fprintf(out, "%s{\"barrier_id\":\"0\",\"ring_dim\":\"ICI_RING_DIM_%.*s\",", *at == ' ' ? "," : "",
                    at[1] == 'D' ? 3 : 1, at + 1);
        else if (first)
            fputs("{\"core_count\":\"2\",", out);
        if (first)
            fprintf(out, "\"ring_type\":\"ICI_RING_TYPE_UNIDIR_%s\"}",
                    strncmp(way + 1, "CCW", 3) == 0 ? "CCW" : "CW");
        if (*at == '}')
            fputs("]}", out);
    }
    fputs("]}}}", out);
}

static void write_config(const struct csv_table *table, int row, FILE *out)
{
    const char *emitter = csv_table_text(table, row, "emitter"),
               *strategy = csv_table_text(table, row, "strategy"),
               *orders = csv_table_text(table, row, "dim_used");
    fputs("backend_config={\"flag_configs\":[],", out);
    if (strncmp(emitter, "SparseCore", 10) == 0)
        write_offload(orders, out);
    else
        fprintf(out,
                "\"collective_algorithm_config\":{\"emitter\":\"%s\",\"strategy\":\"%s\",\"debug\":\"\\n%s{"
                "colors:%s "
                "phases:%s cores:{4},{4} nophase0:0%s%s asymmetric_max_colors:0},is_multistep:1\"}",
                emitter, strategy, strategy, csv_table_text(table, row, "colors"),
                csv_table_text(table, row, "phases"), *orders ? " active_dims:111 dim_used:" : "", orders);
    fputc('}', out);
}

/* Are two devices in one group? They are if they differ along its axes only, or along a part of one: x0 has the higher digit. */
static bool are_together(const struct slice *slice, const char *axes, int low, int cores, int a, int b)
{
    if (a % cores != b % cores && !strchr(axes, 'c'))
        return false;
    for (int axis = 0; axis < slice->axes; axis++) {
        int at = slice_coord(slice, a / cores, axis), other = slice_coord(slice, b / cores, axis);
        const char *in = strchr(axes, slice_axis_name(axis));
        bool high = in && in[1] == '0', part = high || (in && in[1] == '1');
        if (!in ? at != other : part && (high ? at % low != other % low : at / low != other / low))
            return false;
    }
    return true;
}

static void write_groups(const struct slice *slice, const char *axes, int low, int cores, FILE *out)
{
    int devices = slice->chips * cores;
    bool *written = calloc((size_t)devices, sizeof *written);
    CU_ASSERT_PTR_NOT_NULL_FATAL(written);
    fputs("replica_groups={", out);
    for (int first = 0; first < devices; first++) {
        if (written[first])
            continue;
        for (int d = first; d < devices; d++)
            if (are_together(slice, axes, low, cores, first, d)) {
                fprintf(out, "%s%d", d > first ? "," : first > 0 ? ",{" : "{", d);
                written[d] = true;
            }
        fputc('}', out);
    }
    fputs("}, ", out);
    free(written);
}

/* The module of a row: one collective. */
static void write_module(const struct csv_table *table, int row, char text[static TEXT])
{
    struct status st = {0};
    struct slice slice;
    const char *topology = csv_table_text(table, row, "topology"), *mesh = csv_table_text(table, row, "mesh"),
               *axes = choices_axes(topology, mesh, csv_table_text(table, row, "axes")),
               *coll = csv_table_text(table, row, "coll"), *x = strrchr(mesh, 'x');
    bool all = strcmp(csv_table_text(table, row, "opcode"), "all-reduce") == 0, gathers = coll[0] == 'a';
    int len[SLICE_AXES], cores = strcmp(topology, "2x2x2") == 0 ? 2 : 1;
    int n = 0, low = strncmp(mesh, "logical", 7) == 0 ? 8 : x ? atoi(x + 1) : 1;
    bool wrap[SLICE_AXES] = {0};
    OKAY(slice_init(&slice, slice_parse_shape(topology, len, &st), len, wrap, 1e9, 1e-6, &st), st);
    for (int d = 0; d < slice.chips * cores; d++)
        n += are_together(&slice, axes, low, cores, 0, d);
    FILE *out = fmemopen(text, TEXT, "w");
    fprintf(out,
            "HloModule m, is_scheduled=true, num_partitions=%d\nadd {\n  a = s8[] parameter(0)\n  b = s8[] "
            "parameter(1)\n  ROOT c = s8[] add(a, b)\n}\nENTRY e {\n  p = s8[%d] parameter(0)\n  ROOT r = "
            "s8[%d] %s(p), ",
            slice.chips * cores, gathers ? 1 << 10 : 1 << 18,
            all       ? 1 << 18
            : gathers ? n << 10
                      : (1 << 18) / n,
            all       ? "all-reduce"
            : gathers ? "all-gather"
                      : "reduce-scatter");
    fprintf(out, "channel_id=1, use_global_device_ids=true, %s%s", all ? "" : "dimensions={0}, ",
            gathers ? "" : "to_apply=add, ");
    write_groups(&slice, axes, low, cores, out);
    write_config(table, row, out);
    fputs("\n}\n", out);
    fclose(out);
    slice_free(&slice);
}

/* What a colour should do: the row's order, and of an all-reduce back again. Colours that print no order take that of the first half.
 * Dims of the TensorCore are y, x, z. Returns where the next colour is written. */
static const char *expected(const char *orders, bool back, char axes[static PHASES_MOST])
{
    size_t n = 0;
    const char *end = strchr(orders, '}');
    for (const char *at = orders; at < end; at++) {
        if (*at != '{' && *at != ' ')
            continue;
        if (isdigit((unsigned char)at[1]))
            axes[n++] = "yxz"[at[1] - '0'];
        else if (at[1] >= 'X' && at[1] <= 'Z')
            axes[n++] = (char)tolower(at[1]);
    }
    for (size_t i = n; back && i-- > 1;)
        axes[n++] = axes[i - 1];
    axes[n] = '\0';
    return end + 1 + (end[1] == ',');
}

static bool has_orders(const struct built *built, const char *orders, bool back)
{
    char axes[COLLECTIVE_COLOURS][PHASES_MOST];
    for (int c = 0; c < built->colours; c++) {
        orders = expected(orders, back, axes[c]);
        if (axes[c][0] == axes[c][1]) /* {0 0} */
            strcpy(axes[c], axes[c - built->colours / 2]);
        if (strcmp(axes[c], built->axes[c]) != 0)
            return false;
    }
    return true;
}

static void check_row(const struct csv_table *table, int row, int *orders_seen)
{
    static char text[TEXT];
    struct ground g = {0};
    struct built built;
    struct collective_config config;
    const char *orders = csv_table_text(table, row, "dim_used"),
               *opcode = csv_table_text(table, row, "opcode");
    int colours = atoi(csv_table_text(table, row, "colors")),
        phases = atoi(csv_table_text(table, row, "phases"));
    const char *wrap = csv_table_text(table, row, "wrap");
    write_module(table, row, text);
    open_ground(&g, csv_table_text(table, row, "topology"),
                strcmp(wrap, "TTT") == 0   ? "all"
                : strcmp(wrap, "TTF") == 0 ? "x,y"
                : strcmp(wrap, "FTF") == 0 ? "y"
                                           : "none",
                text);
    int32_t collective = g.module.computation[g.module.entry].root;
    CU_ASSERT(collective_config_of(&g.module, collective, &config));
    bool right = config.colours == colours && config.phases == phases;
    bool one_ring = !*orders || strstr(orders, "EXPL");
    *orders_seen += *orders != '\0';
    if (right && build(&g, collective, &built)) {
        right = built.colours == colours && (!one_ring || built.rings == 1);
        if (right && !one_ring)
            right = has_orders(&built, orders, strcmp(opcode, "all-reduce") == 0) &&
                    built.rings == phases - (strstr(orders, "D2D") != NULL);
    }
    if (!right)
        fprintf(stderr, "%s:%d: %s of %s over %s: %d colours of %d, %d rings; %s\n", CHOICES, row + 2, opcode,
                csv_table_text(table, row, "topology"), csv_table_text(table, row, "axes"), built.colours,
                colours, built.rings, built.axes[0]);
    CU_ASSERT(right);
    close_ground(&g);
}

/* Rows that are alike but for their sizes and types are one. */
static void as_xla_chose(void)
{
    enum { CLASSES = 400 };
    static char class[CLASSES][2 * WORD + 600];
    struct csv_table table = {0};
    struct status st = {0};
    int classes = 0, rows = 0, orders = 0, orders_seen = 0;
    if (access(CHOICES, R_OK) != 0)
        return;
    OKAY(csv_table_read(&table, CHOICES, &st), st);
    for (int row = 0; row < table.rows; row++) {
        if (!*csv_table_text(&table, row, "colors") || atol(csv_table_text(&table, row, "in_bytes")) <= 65536)
            continue;
        static const char *const of[] = {"topology", "wrap",    "mesh",     "axes",
                                         "opcode",   "emitter", "strategy", "dim_used"};
        char *text = class[classes];
        int known = 0;
        size_t n = 0;
        for (size_t i = 0; i < sizeof of / sizeof *of; i++)
            n += (size_t)snprintf(text + n, sizeof *class - n, "%s ", csv_table_text(&table, row, of[i]));
        rows++;
        orders += *csv_table_text(&table, row, "dim_used") != '\0';
        while (strcmp(class[known], text) != 0)
            known++;
        if (known < classes)
            continue;
        CU_ASSERT_FATAL(++classes < CLASSES);
        check_row(&table, row, &orders_seen);
    }
    CU_ASSERT_EQUAL(rows, 780);
    CU_ASSERT_EQUAL(orders, 338);
    CU_ASSERT(orders_seen > 40);
    csv_table_free(&table);
}

/* Of a text of one collective the slice: "v5_4x4x8_wrap_xyz_psum_..". */
static void check_text(const char *name, int *read, int *coloured)
{
    char path[512], shape[WORD] = "", text[1 << 20];
    struct status st = {0};
    struct module module = {0};
    const char *at = name + strcspn(name, "0123456789") + 1;
    at = strpbrk(at, "0123456789");
    while (at && !(isdigit((unsigned char)at[0]) && at[1] == 'x') &&
           !(isdigit((unsigned char)at[1]) && at[2] == 'x'))
        at++;
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    snprintf(shape, sizeof shape, "%.*s", (int)strspn(at, "0123456789x"), at);
    snprintf(path, sizeof path, TEXTS "/%s", name);
    if (hlo_load(&module, path, NULL, NULL, &st) < 0) {
        module_free(&module);
        return;
    }
    module_free(&module);
    ++*read;
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    struct ground g = {0};
    open_ground(&g, shape, strstr(name, "wrap") || strstr(name, "4w") ? "all" : "none", text);
    for (int32_t i = 0; i < g.module.instructions; i++) {
        struct collective_config config;
        struct built built;
        if (!opcode_communicates(module_at(&g.module, i)->opcode) ||
            !collective_config_of(&g.module, i, &config) || config.colours == 0 || !build(&g, i, &built))
            continue;
        CU_ASSERT_EQUAL(built.colours, config.colours);
        CU_ASSERT_EQUAL(built.rings, config.rings == CONFIG_ONE_RING ? 1 : config.phases);
        ++*coloured;
    }
    close_ground(&g);
}

static void as_texts_say(void)
{
    int read = 0, coloured = 0;
    DIR *folder = opendir(TEXTS);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (strstr(entry->d_name, ".txt"))
            check_text(entry->d_name, &read, &coloured);
    if (!folder)
        return;
    closedir(folder);
    CU_ASSERT(read >= 27);
    CU_ASSERT(coloured >= 20);
}

SUITE("compiled_schedule", TEST(as_xla_chose), TEST(as_texts_say))
