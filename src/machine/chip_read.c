/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of a chip file. */
#include "machine/chip_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

/* The kinds of values in a chip file. */
enum field_kind {
    FIELD_QUANTITY,
    FIELD_BYTES,
    FIELD_INT,
    FIELD_SHAPE,
    FIELD_OFFERS,
    FIELD_CHOICE, /* the place of a word in a list */
    FIELD_WORD,   /* the word itself */
    FIELD_FACTOR, /* about 1 */
    FIELD_SHARES, /* by bytes */
    FIELD_WIDTHS, /* by the width of a head */
    FIELD_RULE,
    FIELD_PEAKS,
    FIELD_EFFICIENCIES,
};

typedef int parse_quantity(const char *what, const char *text, double *value, struct status *st);

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;            /* in struct chip */
    parse_quantity *parse;    /* of a quantity */
    const char *const *words; /* of a choice or a word */
};

const char *const chip_wrap_names[] = {[CHIP_WRAP_FULL_POD] = "full pod only",
                                       [CHIP_WRAP_CUBES] = "multiples of 4x4x4",
                                       [CHIP_WRAP_AXIS_16] = "axis of 16 only",
                                       [CHIP_WRAP_ALWAYS] = "always",
                                       [CHIP_WRAP_NEVER] = "never",
                                       NULL};

static const char *const twist_names[] = {
    [CHIP_TWIST_NEVER] = "never", [CHIP_TWIST_DOUBLED] = "nxnx2n and nx2nx2n", NULL};
static const char *const ring_words[] = {"uni", "bidi", "bidi-half", NULL};
static const char *const algorithm_words[] = {"schedule", "xla", NULL};
static const char *const collective_queue_words[] = {"tensorcore", "sparsecore", NULL};
static const char *const jax_mesh_words[] = {"whole axes", "split axes", NULL};

#define OF(member) .offset = offsetof(struct chip, member)
static const struct field fields[] = {
    {"pod", FIELD_SHAPE, OF(pod)},
    {"slices", FIELD_OFFERS, OF(offers)},
    {"host", FIELD_SHAPE, OF(host)},
    {"cores", FIELD_INT, OF(cores)},
    {"tensorcores", FIELD_INT, OF(tensorcores)},
    {"wrap", FIELD_CHOICE, OF(wrap), .words = chip_wrap_names},
    {"twist", FIELD_CHOICE, OF(twist), .words = twist_names},
    {"peak", FIELD_PEAKS, OF(peak_flops)},
    {"matmul_efficiency", FIELD_EFFICIENCIES, OF(efficiency)},
    {"product_estimate", FIELD_RULE, OF(product_rule)},
    {"attention_efficiency", FIELD_WIDTHS, OF(attention_efficiency)},
    {"contention", FIELD_QUANTITY, OF(contention_frac), .parse = units_parse_fraction},
    {"step_efficiency", FIELD_FACTOR, OF(step_efficiency)},
    {"hbm_capacity", FIELD_BYTES, OF(hbm_bytes)},
    {"hbm_limit", FIELD_BYTES, OF(hbm_limit_bytes)},
    {"vmem", FIELD_BYTES, OF(vmem_bytes)},
    {"hbm_bandwidth", FIELD_QUANTITY, OF(hbm_Bps), .parse = units_parse_bandwidth},
    {"hbm_efficiency", FIELD_SHARES, OF(hbm_efficiency)},
    {"link_bandwidth", FIELD_QUANTITY, OF(link_Bps), .parse = units_parse_bandwidth},
    {"link_nominal", FIELD_QUANTITY, OF(link_nominal_Bps), .parse = units_parse_bandwidth},
    {"joint_bandwidth", FIELD_QUANTITY, OF(joint_Bps), .parse = units_parse_bandwidth},
    {"reduce_rate", FIELD_QUANTITY, OF(reduce_Bps), .parse = units_parse_bandwidth},
    {"hop_latency", FIELD_QUANTITY, OF(hop_latency_s), .parse = units_parse_time},
    {"pcie_bandwidth", FIELD_QUANTITY, OF(pcie_Bps), .parse = units_parse_bandwidth},
    {"dcn_bandwidth", FIELD_QUANTITY, OF(dcn_Bps), .parse = units_parse_bandwidth},
    {"setup", FIELD_QUANTITY, OF(setup_s), .parse = units_parse_time},
    {"launch_overhead", FIELD_QUANTITY, OF(launch_overhead_s), .parse = units_parse_time},
    {"clock", FIELD_QUANTITY, OF(clock_Hz), .parse = units_parse_frequency},
    {"loop_hbm_efficiency", FIELD_QUANTITY, OF(loop_hbm_efficiency), .parse = units_parse_fraction},
    {"loop_overhead", FIELD_QUANTITY, OF(loop_overhead_s), .parse = units_parse_time},
    {"mxu_tile", FIELD_INT, OF(mxu_tile)},
    {"async_permutes", FIELD_INT, OF(async_permute_chips)},
    {"async_gathers", FIELD_INT, OF(async_gathers)},
    {"ring", FIELD_WORD, OF(ring), .words = ring_words},
    {"algorithm", FIELD_WORD, OF(algorithm), .words = algorithm_words},
    {"collective_queue", FIELD_WORD, OF(collective_queue), .words = collective_queue_words},
    {"jax_mesh", FIELD_WORD, OF(jax_mesh), .words = jax_mesh_words},
    {"jax_trays", FIELD_CHOICE, OF(trays), .words = slice_trays_names},
};

enum { FIELDS = sizeof fields / sizeof *fields };

/* Stores a fact under its key; a measured fact replaces the book's. */
static int note_fact(struct chip *chip, const struct node *node, struct chip_fact fact, struct status *st)
{
    for (int i = 0; i < chip->facts; i++) {
        if (strcmp(chip->fact[i].key, fact.key) == 0) {
            chip->fact[i] = fact;
            return 0;
        }
    }
    if (chip->facts == CHIP_FACTS)
        return node_fail(node, st, STATUS_LIMIT, "more than %d values", CHIP_FACTS);
    chip->fact[chip->facts++] = fact;
    return 0;
}

/* Reads a value with its origin, {value: ..., source: ..., how: ..., fitted_on: [...]}, or a bare value.
 * *value becomes the node of the value or, if there is none, of the `steps`. */
static int read_fact(struct chip *chip, const struct node *node, const char *key, bool measured,
                     const struct node **value, struct status *st)
{
    static const char *const names[] = {"value", "steps", "source", "how", "fitted_on", NULL};
    struct chip_fact fact = {.value = "", .source = "", .how = "", .measured = measured};
    memccpy(fact.key, key, '\0', sizeof fact.key - 1);
    *value = node;
    int code = 0;
    if (node->kind == NODE_MAPPING) {
        const struct node *source = node_get(node, "source"), *how = node_get(node, "how");
        const struct node *steps = node_get(node, "steps");
        *value = steps;
        code = node_only(node, names, st);
        if (code == 0 && !steps)
            code = node_need(node, "value", value, st);
        if (code == 0 && source)
            code = node_text(source, "source", &fact.source, st);
        if (code == 0 && how)
            code = node_text(how, "how", &fact.how, st);
        fact.fitted_on = node_get(node, "fitted_on");
        if (code == 0 && fact.fitted_on)
            code = node_is_sequence(fact.fitted_on, "fitted_on", st);
    }
    if (code == 0 && measured && (!fact.source[0] || !fact.how[0]))
        code = node_fail(
            node, st, STATUS_INPUT,
            "measured %s needs its source and how it was found: {value: ..., source: ..., how: ...}", key);
    if (code == 0 && (*value)->kind == NODE_SCALAR)
        code = node_text(*value, key, &fact.value, st);
    else if (code == 0)
        fact.value = (*value)->kind == NODE_MAPPING ? "rule" : "steps";
    return code < 0 ? code : note_fact(chip, node, fact, st);
}

/* Reads a quantity. Some must be above zero: a link without bandwidth would never move anything. */
static int read_quantity(const struct node *node, const char *what, parse_quantity *parse, bool above_zero,
                         double *value, struct status *st)
{
    const char *text;
    int code = node_text(node, what, &text, st);
    if (code == 0)
        code = node_prefix(node, st, parse(what, text, value, st));
    if (code == 0 && above_zero && !(*value > 0))
        code = node_fail(node, st, STATUS_INPUT, "%s '%s' must be above 0", what, text);
    return code;
}

static int read_shape(struct chip *chip, const struct node *node, const char *text, int len[SLICE_AXES],
                      struct status *st)
{
    int axes = slice_parse_shape(text, len, st);
    if (axes < 0)
        return node_prefix(node, st, axes);
    if (len == chip->pod)
        chip->axes = axes;
    return 0;
}

/* Reads "2x2x1 2x2x2 multiples of 4x4x4". */
static int read_offers(const struct node *node, const char *text, struct chip_offers *offers,
                       struct status *st)
{
    static const char multiples[] = "multiples of ";
    *offers = (struct chip_offers){0};
    for (const char *at = text; *at && !offers->multiples;) {
        char shape[SLICE_TEXT];
        if (strncmp(at, multiples, sizeof multiples - 1) == 0) {
            offers->multiples = true;
            at += sizeof multiples - 1;
        }
        size_t n = strcspn(at, " ");
        snprintf(shape, sizeof shape, "%.*s", (int)n, at);
        at += n + strspn(at + n, " ");
        if (offers->shapes == CHIP_OFFERS || (offers->multiples && *at))
            return node_fail(node, st, STATUS_INPUT,
                             "slices '%s': write at most %d shapes, the last maybe as 'multiples of 4x4x4'",
                             text, CHIP_OFFERS);
        if (slice_parse_shape(shape, offers->len[offers->shapes++], st) < 0)
            return node_prefix(node, st, st->code);
    }
    return 0;
}

static int read_word(const struct field *field, const struct node *node, const char *text, void *to,
                     struct status *st)
{
    int at = text_choice(field->name, text, field->words, st);
    if (at >= 0 && field->kind == FIELD_CHOICE)
        *(int *)to = at;
    else if (at >= 0)
        *(const char **)to = field->words[at];
    return node_prefix(node, st, at < 0 ? at : 0);
}

/* Reads a field that is a single value. */
static int read_value(struct chip *chip, const struct field *field, const struct node *node,
                      struct status *st)
{
    void *to = (char *)chip + field->offset;
    const char *text;
    int64_t whole = 0;
    int code = node_text(node, field->name, &text, st);
    if (code < 0)
        return code;
    switch (field->kind) {
    case FIELD_QUANTITY:
        return read_quantity(node, field->name, field->parse, field->parse != units_parse_time, to, st);
    case FIELD_FACTOR:
        code = node_real(node, field->name, to, st);
        return code == 0 && !(*(double *)to > 0 && *(double *)to <= 2)
                   ? node_fail(node, st, STATUS_INPUT, "%s '%s' must be above 0 and at most 2", field->name,
                               text)
                   : code;
    case FIELD_BYTES:
        return node_prefix(node, st, units_parse_bytes(field->name, text, to, st));
    case FIELD_INT:
        code = node_integer(node, field->name, &whole, st);
        if (code == 0 && (whole < 1 || whole > 65536))
            code = node_fail(node, st, STATUS_INPUT, "%s '%s' must be 1 to 65536", field->name, text);
        *(int *)to = (int)whole;
        return code;
    case FIELD_SHAPE:
        return read_shape(chip, node, text, to, st);
    case FIELD_OFFERS:
        return read_offers(node, text, to, st);
    case FIELD_CHOICE:
    case FIELD_WORD:
        return read_word(field, node, text, to, st);
    default:
        return node_fail(node, st, STATUS_INPUT, "%s is a mapping by dtype", field->name);
    }
}

static int parse_bytes(const char *what, const char *text, double *bytes, struct status *st)
{
    uint64_t whole = 0;
    int code = units_parse_bytes(what, text, &whole, st);
    *bytes = (double)whole;
    return code;
}

/* Reads one step, [1Gflop, 0.5], which must be above the previous step. */
static int read_step(const struct node *step, const char *key, parse_quantity *parse,
                     struct chip_efficiency *e, struct status *st)
{
    const char *text;
    if (step->kind != NODE_SEQUENCE || step->count != 2)
        return node_fail(step, st, STATUS_INPUT, "a step of %s must be a pair such as [%s, 0.5]", key,
                         parse == parse_bytes        ? "1MiB"
                         : parse == units_parse_work ? "1Gflop"
                                                     : "128");
    const struct node *work = step->child[0];
    int code = node_text(work, key, &text, st);
    if (code == 0)
        code = node_prefix(work, st, parse(key, text, &e->work[e->steps], st));
    if (code == 0 && !(e->work[e->steps] > (e->steps ? e->work[e->steps - 1] : 0)))
        code = node_fail(work, st, STATUS_INPUT, "steps of %s must rise; '%s' does not", key, text);
    if (code == 0)
        code = read_quantity(step->child[1], key, units_parse_fraction, true, &e->frac[e->steps], st);
    if (code < 0)
        return code;
    int i = e->steps++;
    if (i > 0 && !(e->work[i] / e->frac[i] > e->work[i - 1] / e->frac[i - 1]))
        return node_fail(step, st, STATUS_INPUT,
                         "by the steps of %s work of %s takes no longer than the smaller one before it", key,
                         text);
    return 0;
}

static int read_efficiency(const struct node *node, const char *key, parse_quantity *parse,
                           struct chip_efficiency *e, struct status *st)
{
    *e = (struct chip_efficiency){0};
    if (node->kind == NODE_SCALAR) {
        *e = (struct chip_efficiency){.steps = 1, .work = {1}};
        return read_quantity(node, key, units_parse_fraction, true, &e->frac[0], st);
    }
    int n = node->count;
    if (n < 1 || n > CHIP_STEPS)
        return node_fail(node, st, STATUS_LIMIT, "%s must have 1 to %d steps", key, CHIP_STEPS);
    int code = 0;
    for (int i = 0; i < n && code == 0; i++)
        code = read_step(node->child[i], key, parse, e, st);
    return code;
}

static int parse_width(const char *what, const char *text, double *width, struct status *st)
{
    char *end;
    *width = strtod(text, &end);
    return end > text && !*end
               ? 0
               : status_fail(st, STATUS_INPUT, "%s: '%s' is no width of a head, such as 128", what, text);
}

/* Reads {fixed_cycles: 3754, load_cycles: ...}; all eight values are required. */
static int read_rule(const struct node *node, const char *key, struct product_rule *rule, struct status *st)
{
    double *const to[] = {&rule->fixed_cycles,   &rule->load_cycles,         &rule->mxu_factor,
                          &rule->results_cycles, &rule->hbm_bytes_per_cycle, &rule->block_rows,
                          &rule->window_bytes,   &rule->vmem_results_cycles};
    static const char *const names[] = {"fixed_cycles",   "load_cycles",         "mxu_factor",
                                        "results_cycles", "hbm_bytes_per_cycle", "block_rows",
                                        "window_bytes",   "vmem_results_cycles", NULL};
    int code = node_is_mapping(node, key, st);
    if (code == 0)
        code = node_only(node, names, st);
    for (int i = 0; names[i] && code == 0; i++) {
        const struct node *value;
        code = node_need(node, names[i], &value, st);
        if (code == 0)
            code = node_real(value, names[i], to[i], st);
        if (code == 0 && !(*to[i] > 0))
            code = node_fail(value, st, STATUS_INPUT, "%s must be above 0", names[i]);
    }
    return code;
}

/* Reads a mapping from dtypes to values; for efficiencies `all` is allowed, too. */
static int read_by_dtype(struct chip *chip, const struct field *field, const struct node *node, bool measured,
                         struct status *st)
{
    int code = node_is_mapping(node, field->name, st);
    for (int i = 0; i < node->count && code == 0; i++) {
        const char *name = node->name[i];
        const struct node *value = node->child[i];
        bool all = field->kind == FIELD_EFFICIENCIES && strcmp(name, "all") == 0;
        int dtype = all ? 0 : dtype_by_name(name, st);
        if (dtype < 0)
            return node_prefix(value, st, dtype);
        char key[CHIP_KEY];
        snprintf(key, sizeof key, "%s.%s", field->name, all ? "all" : dtype_info((enum dtype_id)dtype)->name);
        code = read_fact(chip, value, key, measured, &value, st);
        if (code == 0)
            code = field->kind == FIELD_PEAKS
                       ? read_quantity(value, key, units_parse_rate, true, &chip->peak_flops[dtype], st)
                       : read_efficiency(value, key, units_parse_work, &chip->efficiency[dtype], st);
        for (int d = 1; all && d < DTYPE_COUNT; d++)
            chip->efficiency[d] = chip->efficiency[0];
    }
    return code;
}

int chip_read_section(struct chip *chip, const struct node *section, bool measured, struct status *st)
{
    const char *names[FIELDS + 1] = {NULL};
    for (int f = 0; f < FIELDS; f++)
        names[f] = fields[f].name;
    int code = node_only(section, names, st);
    for (int f = 0; f < FIELDS && code == 0; f++) {
        const struct node *node = node_get(section, fields[f].name);
        if (!node)
            continue;
        if (fields[f].kind == FIELD_PEAKS || fields[f].kind == FIELD_EFFICIENCIES) {
            code = read_by_dtype(chip, &fields[f], node, measured, st);
            continue;
        }
        code = read_fact(chip, node, fields[f].name, measured, &node, st);
        void *to = (char *)chip + fields[f].offset;
        if (code == 0 && fields[f].kind == FIELD_RULE)
            code = read_rule(node, fields[f].name, to, st);
        else if (code == 0 && (fields[f].kind == FIELD_SHARES || fields[f].kind == FIELD_WIDTHS))
            code = read_efficiency(node, fields[f].name,
                                   fields[f].kind == FIELD_WIDTHS ? parse_width : parse_bytes, to, st);
        else if (code == 0)
            code = read_value(chip, &fields[f], node, st);
    }
    return code;
}
