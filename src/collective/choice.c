/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collective/choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/embedded.h"
#include "base/text.h"
#include "base/units.h"

enum { LARGE_CHIPS = 16, BOARD_CHIPS = 8, SHORT_AXIS = 8, CHIP_NAME = 32 };

/* Multiplies count[] by the number of different coordinates that one group of a ring has along each axis, and
 * adds the axes along which it leaves out coordinates in between to *strided. */
static void count_coords(const struct slice *slice, const struct ring *ring, int count[static SLICE_AXES],
                         unsigned *strided)
{
    int first = 0;
    while (ring->axis < 0 && ring->position[first] < 0)
        first++;
    for (int axis = 0; axis < slice->axes; axis++) {
        int chip = first, seen = 0, least = slice->len[axis], most = 0;
        uint64_t bits[(1 << 8) / 64] = {0};
        for (int i = 0; i < ring->n; i++, chip = ring_next(ring, slice, chip)) {
            int at = slice_coord(slice, chip, axis) & 255;
            seen += !(bits[at / 64] >> at % 64 & 1);
            bits[at / 64] |= UINT64_C(1) << at % 64;
            least = at < least ? at : least;
            most = at > most ? at : most;
        }
        count[axis] *= seen;
        *strided |= most - least >= seen ? 1u << axis : 0;
    }
}

struct choice_group choice_group_of(const struct slice *slice, const struct ring *const ring[], int rings)
{
    struct choice_group group = {.devices = 1, .all_devices = true};
    int count[SLICE_AXES] = {1, 1, 1};
    for (int r = 0; r < rings; r++) {
        group.devices *= ring[r]->n;
        if (ring[r]->n > 1)
            count_coords(slice, ring[r], count, &group.strided);
    }
    for (int axis = 0; axis < slice->axes; axis++) {
        unsigned bit = 1u << axis;
        group.whole |= count[axis] > 1 && count[axis] >= slice->len[axis] ? bit : 0;
        group.part |= count[axis] > 1 && count[axis] < slice->len[axis] ? bit : 0;
    }
    return group;
}

/* The axes of a group in the order of the TensorCore's strategies: y, x, z, cyclically. Returns their
 * number. */
static int axes_by_dim(unsigned whole, int axis[static COLLECTIVE_RINGS])
{
    int n = 0;
    for (int dim = 0; dim < COLLECTIVE_RINGS; dim++)
        if (whole >> config_dim(dim) & 1)
            axis[n++] = config_dim(dim);
    if (n == 2 && config_dim(axis[0]) == 0 && config_dim(axis[1]) == 2) { /* 2 comes before 0 */
        axis[1] = axis[0];
        axis[0] = config_dim(2);
    }
    return n;
}

/* Appends a colour whose order of axes is rotated to begin with axis[first]. */
static void add_rotated(struct collective_config *config, const int axis[], int axes, int first, int sign)
{
    struct config_colour *colour = &config->colour[config->colours++];
    for (int p = 0; p < axes; p++)
        colour->axis[p] = axis[(first + p) % axes];
    colour->sign = sign;
    config->phases = axes;
}

/* Does `is` hold for all whole axes of the group, beside the shortest of them? */
static bool axes_are(const struct choice_case *of, bool (*is)(const struct slice *, int axis, int shortest))
{
    int shortest = -1;
    bool are = true;
    for (int axis = 0; axis < of->slice->axes; axis++)
        if (of->group.whole >> axis & 1 && (shortest < 0 || of->slice->len[axis] < of->slice->len[shortest]))
            shortest = axis;
    for (int axis = 0; axis < of->slice->axes; axis++)
        are &= !(of->group.whole >> axis & 1) || is(of->slice, axis, shortest);
    return are;
}

static bool is_equal(const struct slice *slice, int axis, int shortest)
{
    return slice->len[axis] == slice->len[shortest];
}

static bool is_pair(const struct slice *slice, int axis, int shortest)
{
    (void)shortest;
    return slice->len[axis] == 2;
}

static bool is_near(const struct slice *slice, int axis, int shortest)
{
    return is_equal(slice, axis, shortest) || slice->len[axis] == 2 * slice->len[shortest];
}

static bool is_closed(const struct slice *slice, int axis, int shortest)
{
    return slice->wrap[axis] || is_pair(slice, axis, shortest);
}

/* The orders of the colours: rotated over axes that are equal, and of large messages where some are twice the others. Else such orders
 * as have rings of the same length in every phase: of two equal axes and another one those that end with the other. */
static void set_orders(struct collective_config *config, const struct choice_case *of)
{
    const int *len = of->slice->len;
    int axis[COLLECTIVE_RINGS] = {0}, axes = axes_by_dim(of->group.whole, axis);
    bool rotated = axes_are(of, is_equal) || (!config->small && axes_are(of, is_near));
    for (int c = 0; c < axes && rotated; c++)
        add_rotated(config, axis, axes, c, 0);
    for (int i = 0; i < axes && !rotated; i++)
        for (int j = i + 1; j < axes && config->colours == 0; j++)
            if (len[axis[i]] == len[axis[j]]) {
                int last = axis[3 - i - j]; /* of three, as two axes differ */
                add_rotated(config, (int[]){axis[i], axis[j], last}, axes, 0, 0);
                add_rotated(config, (int[]){axis[j], axis[i], last}, axes, 0, 0);
            }
    if (config->colours == 0 && axes > 0)
        add_rotated(config, axis, axes, 0, 0);
}

/* Do all colours of large messages begin with rings of the same length, of few chips? */
static bool begins_short(const struct choice_case *of)
{
    struct collective_config config = {0};
    set_orders(&config, of);
    int first = of->slice->len[config.colour[0].axis[0]];
    bool alike = true;
    for (int c = 1; c < config.colours; c++)
        alike &= of->slice->len[config.colour[c].axis[0]] == first;
    return alike && first <= SHORT_AXIS;
}

static bool fills_slice(const struct choice_case *of)
{
    int chips = 1;
    for (int axis = 0; axis < of->slice->axes; axis++)
        chips *= of->group.whole >> axis & 1 ? of->slice->len[axis] : 1;
    return of->group.all_devices && chips == of->slice->chips;
}

static bool word_holds(const struct choice_case *of, const char *word)
{
    const struct choice_group *group = &of->group;
    int axes = __builtin_popcount(group->whole | group->part);
    const struct {
        const char *word;
        bool holds;
    } words[] = {{"axes", axes > 1 && !group->part && group->all_devices},
                 {"two", axes == 2},
                 {"three", axes == 3},
                 {"equal", axes_are(of, is_equal)},
                 {"short", begins_short(of)},
                 {"odd", group->devices % 2 == 1},
                 {"binary", (group->devices & (group->devices - 1)) == 0},
                 {"closed", axes_are(of, is_closed)},
                 {"pair", axes_are(of, is_pair)},
                 {"cut", group->part != 0},
                 {"strided", group->strided != 0},
                 {"core", axes == 0},
                 {"slice", fills_slice(of)},
                 {"large", of->slice->chips > LARGE_CHIPS},
                 {"board", of->slice->axes < 3 && of->slice->chips <= BOARD_CHIPS},
                 {"int32", of->dtype == dtype_info(DTYPE_S32)},
                 {"reordered", group->reordered}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i].holds;
    return false;
}

/* Do all words of a condition hold, "axes equal !board"? */
static bool all_hold(const struct choice_case *of, const char *when)
{
    char word[16];
    while (*when) {
        bool negated = *when == '!';
        size_t length = strcspn(when += negated, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, when);
        if (word_holds(of, word) == negated)
            return false;
        when += length + (when[length] == ' ');
    }
    return true;
}

/* Reads "64KiB", or a number of devices. */
static int read_limit(const char *text, double *limit, struct status *st)
{
    char *end;
    uint64_t bytes;
    *limit = strtod(text, &end);
    if (!*end)
        return 0;
    int code = units_parse_bytes("range", text, &bytes, st);
    *limit = (double)bytes;
    return code;
}

/* Is a value in a range "a..b", from a to below b? Either end may be missing; "" is any value. */
static int in_range(const char *text, double value, bool *in, struct status *st)
{
    char low[32];
    const char *dots = strstr(text, "..");
    double from = -INFINITY, below = INFINITY;
    int code = 0;
    snprintf(low, sizeof low, "%.*s", dots ? (int)(dots - text) : 0, text);
    if (*low)
        code = read_limit(low, &from, st);
    if (code == 0 && dots && dots[2])
        code = read_limit(dots + 2, &below, st);
    *in = value >= from && value < below;
    return code;
}

static bool is_of_chip(const char *chips, const char *chip)
{
    char name[CHIP_NAME];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(chip, "-"), chip);
    return !*chips || text_has_word(chips, name);
}

/* Does a row name the chip? Rows without chips apply only to chips that some other row names. */
static bool is_known(const struct csv_table *table, const char *chip)
{
    for (int row = 0; row < table->rows; row++)
        if (*csv_table_text(table, row, "chips") && is_of_chip(csv_table_text(table, row, "chips"), chip))
            return true;
    return false;
}

/* The first row that matches; -1: none. */
static int find_row(const struct csv_table *table, const struct choice_case *of, struct status *st)
{
    int n = of->group.devices;
    bool gathers = of->collective == COLLECTIVE_ALL_GATHER,
         exchanges = of->collective == COLLECTIVE_ALL_TO_ALL;
    double local = of->bytes / (gathers || exchanges ? n : 1);
    for (int row = 0; row < table->rows && is_known(table, of->chip); row++) {
        bool devices, bytes, whole, share;
        if (strcmp(csv_table_text(table, row, "collective"), collective_of(of->collective)->name) != 0 ||
            !is_of_chip(csv_table_text(table, row, "chips"), of->chip) ||
            !all_hold(of, csv_table_text(table, row, "when")))
            continue;
        if (in_range(csv_table_text(table, row, "devices"), n, &devices, st) < 0 ||
            in_range(csv_table_text(table, row, "bytes"), local, &bytes, st) < 0 ||
            in_range(csv_table_text(table, row, "whole"), of->bytes, &whole, st) < 0 ||
            in_range(csv_table_text(table, row, "share"), of->bytes / n / of->dtype->bytes, &share, st) < 0)
            return status_prefix(st, "%s:%d: ", table->file, table->line[row]);
        if (devices && bytes && whole && share)
            return row;
    }
    return -1;
}

static void set_nd(struct collective_config *config, const struct choice_case *of)
{
    bool one_way = strncmp(config->strategy, "UniDirection", strlen("UniDirection")) == 0;
    config->rings = CONFIG_ALL_AXES;
    config->kind = one_way ? RING_BIDI_HALF : RING_BIDI;
    set_orders(config, of);
    if (strcmp(config->strategy, "StrategySubgroupND") == 0 &&
        config->colour[0].axis[0] > config->colour[1].axis[0]) {
        struct config_colour first = config->colour[0];
        config->colour[0] = config->colour[1];
        config->colour[1] = first;
    }
    for (int c = 0, orders = config->colours; c < orders && one_way; c++) {
        config->colour[c].sign = 1;
        config->colour[config->colours] = config->colour[c];
        config->colour[config->colours++].sign = -1;
    }
}

/* The colours of the SparseCores. A reduce-scatter first reduces between the devices of a chip. */
static void set_sparse_nd(struct collective_config *config, const struct choice_case *of)
{
    int axis[COLLECTIVE_RINGS], axes = 0, times;
    bool inside = of->collective == COLLECTIVE_REDUCE_SCATTER && of->group.several && of->group.all_devices;
    for (int a = 0; a < COLLECTIVE_RINGS; a++)
        if ((of->group.whole | of->group.part) >> a & 1)
            axis[axes++] = a;
    times = axes == 3 && strstr(config->strategy, "multiSC") ? 2 : 1;
    for (int c = 0; c < 2 * times * axes; c++)
        add_rotated(config, axis, axes, c / 2 % axes, c % 2 ? -1 : 1);
    for (int c = 0; c < config->colours && inside && axes < COLLECTIVE_RINGS; c++) {
        memmove(config->colour[c].axis + 1, config->colour[c].axis, (size_t)axes * sizeof(int));
        config->colour[c].axis[0] = CONFIG_AXIS_CHIP;
        config->phases = axes + 1;
    }
    config->rings = axes > 1 ? CONFIG_ALL_AXES : CONFIG_ONE_RING;
}

/* One ring through all chips: one colour in both directions, or one colour for each direction. */
static void set_one_ring(struct collective_config *config)
{
    bool both = strcmp(config->strategy, "StrategyRing") == 0;
    int open = CONFIG_AXIS_OPEN;
    config->rings = CONFIG_ONE_RING;
    config->kind = both ? RING_BIDI : RING_BIDI_HALF;
    add_rotated(config, &open, 1, 0, both ? 0 : 1);
    if (!both)
        add_rotated(config, &open, 1, 0, -1);
}

static void set(struct collective_config *config, const struct choice_case *of)
{
    config->sparse_core = strncmp(config->emitter, "SparseCore", strlen("SparseCore")) == 0;
    config_of_emitter(config);
    if (!config->strategy[0])
        return;
    if (config->sparse_core && strncmp(config->strategy, "ND", 2) == 0)
        set_sparse_nd(config, of);
    else if (strstr(config->strategy, "ND"))
        set_nd(config, of);
    else
        set_one_ring(config);
}

static int find_in(const struct csv_table *table, struct choice_case of, struct collective_config *config,
                   bool *found, struct status *st)
{
    int row = find_row(table, &of, st);
    bool instead = row >= 0 && strcmp(csv_table_text(table, row, "emitter"), "all-reduce") == 0;
    if (instead) {
        of.collective = COLLECTIVE_ALL_REDUCE;
        row = find_row(table, &of, st);
    }
    *found = row >= 0;
    if (row < 0)
        return st->code;
    *config = (struct collective_config){.as_all_reduce = instead};
    snprintf(config->emitter, CONFIG_NAME, "%s", csv_table_text(table, row, "emitter"));
    snprintf(config->strategy, CONFIG_NAME, "%s", csv_table_text(table, row, "strategy"));
    set(config, &of);
    return 0;
}

int choice_find(const struct choice_case *of, struct collective_config *config, bool *found,
                struct status *st)
{
    struct csv_table table = {0};
    const struct embedded_file *file = embedded_choices;
    while (file[1].name)
        file++;
    *found = false;
    int code = csv_table_parse(&table, file->name, file->text, file->bytes, st);
    if (code == 0)
        code = find_in(&table, *of, config, found, st);
    csv_table_free(&table);
    return code;
}

int choice_follow(const struct choice_case *of, int rings, bool listed, struct collective_config *config,
                  bool *follows, struct status *st)
{
    int code = choice_find(of, config, follows, st);
    *follows = *follows && config_fits(config, rings) && !(listed && config->rings == CONFIG_ALL_AXES);
    return code;
}
