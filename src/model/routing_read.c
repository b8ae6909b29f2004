/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a routing from a file of a workload, or draws it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/distribution.h"
#include "base/lookup.h"
#include "base/text.h"
#include "model/experts.h"
#include "model/routing.h"

/* The first three columns of a row: whole numbers from 0 to most. */
static int read_wholes(const struct csv_table *table, int row, const int column[], const int64_t most[],
                       int64_t whole[], struct status *st)
{
    for (int i = 0; i < 3; i++) {
        double value;
        if (csv_table_number(table, row, column[i], &value, st) < 0)
            return st->code;
        if (!(value >= 0 && value <= (double)most[i] && floor(value) >= value))
            return csv_table_fail(table, row, column[i], st, "must be a whole number from 0 to %lld",
                                  (long long)most[i]);
        whole[i] = (int64_t)value;
    }
    return 0;
}

static int need_columns(const struct csv_table *table, const char *const names[], int count, int column[],
                        struct status *st)
{
    for (int i = 0; i < count; i++)
        if ((column[i] = csv_table_need(table, names[i], st)) < 0)
            return st->code;
    return 0;
}

/* One row: the next slot of its token. `taken` counts them. */
static int read_entry(struct routing *r, const struct csv_table *table, int row, const int column[],
                      int taken[], struct status *st)
{
    const int64_t most[] = {r->devices - 1, r->tokens - 1, r->experts - 1};
    int64_t whole[3] = {0};
    double gate = 0;
    if (read_wholes(table, row, column, most, whole, st) < 0 ||
        csv_table_number(table, row, column[3], &gate, st) < 0)
        return st->code;
    if (!isfinite(gate))
        return csv_table_fail(table, row, column[3], st, "must be a number");
    int64_t token = whole[0] * r->tokens + whole[1], first = token * r->top_k;
    if (taken[token] == r->top_k)
        return csv_table_fail(table, row, column[1], st,
                              "token %lld of device %lld has more than its %d experts", (long long)whole[1],
                              (long long)whole[0], r->top_k);
    for (int slot = 0; slot < taken[token]; slot++)
        if (r->entry[first + slot].expert == whole[2])
            return csv_table_fail(table, row, column[2], st,
                                  "token %lld of device %lld has expert %lld twice", (long long)whole[1],
                                  (long long)whole[0], (long long)whole[2]);
    r->entry[first + taken[token]++] = (struct routing_entry){.expert = (int32_t)whole[2], .gate = gate};
    return 0;
}

static int read_entries(struct routing *r, const struct csv_table *table, struct status *st)
{
    static const char *const names[] = {"device", "token", "expert", "gate"};
    int column[4], code = need_columns(table, names, 4, column, st);
    int *taken = calloc((size_t)r->devices * (size_t)r->tokens + 1, sizeof *taken);
    if (!taken)
        return status_nomem(st);
    for (int row = 0; row < table->rows && code == 0; row++)
        code = read_entry(r, table, row, column, taken, st);
    for (int64_t t = 0; t < r->devices * r->tokens && code == 0; t++)
        if (taken[t] < r->top_k)
            code = status_fail(
                st, STATUS_INPUT, "%s: token %lld of device %lld has %d experts; give each token %d",
                table->file, (long long)(t % r->tokens), (long long)(t / r->tokens), taken[t], r->top_k);
    free(taken);
    return code;
}

static int read_counts(struct routing *r, const struct csv_table *table, struct status *st)
{
    static const char *const names[] = {"device", "expert", "count"};
    const int64_t all = routing_entries(r), most[] = {r->devices - 1, r->experts - 1, all};
    int column[3];
    if (need_columns(table, names, 3, column, st) < 0)
        return st->code;
    for (int row = 0; row < table->rows; row++) {
        int64_t whole[3];
        if (read_wholes(table, row, column, most, whole, st) < 0)
            return st->code;
        r->routed[whole[0] * r->experts + whole[1]] += whole[2];
    }
    for (int d = 0; d < r->devices; d++) {
        int64_t sum = 0;
        for (int e = 0; e < r->experts; e++)
            sum += r->routed[(int64_t)d * r->experts + e];
        if (sum != all)
            return status_fail(
                st, STATUS_INPUT,
                "%s: the counts of device %d sum to %lld; %lld tokens with %d experts make %lld", table->file,
                d, (long long)sum, (long long)r->tokens, r->top_k, (long long)all);
    }
    return 0;
}

static void count_entries(struct routing *r, int device, const struct routing_entry entry[])
{
    for (int64_t i = 0; i < routing_entries(r); i++)
        r->routed[(int64_t)device * r->experts + entry[i].expert]++;
}

static int read_file(struct routing *r, const struct node *node, const char *file, int layer, bool counts,
                     struct status *st)
{
    char path[FRONT_PATH], number[16];
    struct csv_table table = {0};
    snprintf(number, sizeof number, "%d", layer);
    if (front_path(node, file, number, path, st) < 0)
        return st->code;
    int code = csv_table_read(&table, path, st);
    if (code == 0)
        code = counts ? read_counts(r, &table, st) : read_entries(r, &table, st);
    csv_table_free(&table);
    if (counts)
        routing_forget_entries(r);
    for (int d = 0; d < r->devices && r->entry && code == 0; d++)
        count_entries(r, d, r->entry + d * routing_entries(r));
    return code;
}

enum draw { DRAW_EVEN, DRAW_UNIFORM, DRAW_ZIPF, DRAW_MULTINOMIAL, DRAW_HOT };
static const char *const draws[] = {"even", "uniform", "zipf", "multinomial", "hot", NULL};

struct law {
    enum draw draw;
    double exponent, share;
    double *weight; /* [experts] of the current device */
    int64_t seed;
};

static int read_weights(const struct node *node, int experts, double weight[], struct status *st)
{
    double sum = 0;
    int code = node_is_sequence(node, "weights", st);
    if (code == 0 && node->count != experts)
        code = node_fail(node, st, STATUS_INPUT, "%d weights for %d experts; give one for each", node->count,
                         experts);
    for (int e = 0; e < experts && code == 0; e++) {
        code = node_real(node->child[e], "a weight", &weight[e], st);
        if (code == 0 && !(weight[e] >= 0 && isfinite(weight[e])))
            code = node_fail(node->child[e], st, STATUS_INPUT, "a weight must be 0 or more");
        sum += weight[e];
    }
    if (code == 0 && !(sum > 0))
        code = node_fail(node, st, STATUS_INPUT, "one of the weights must be above 0");
    return code;
}

static int read_law(struct law *law, const struct node *root, const struct routing *r, struct status *st)
{
    int which = 0, code = 0;
    const struct front_key draw[] = {{"draw", FRONT_WORD, .to = &which, .words = draws}};
    if (FRONT_READ(root, draw, st) < 0)
        return st->code;
    law->draw = (enum draw)which;
    bool zipf = law->draw == DRAW_ZIPF, hot = law->draw == DRAW_HOT;
    const struct front_key exponent[] = {
        {"exponent", FRONT_REAL, &law->exponent, "that of Zipf's law, such as 1.2", .most = 16}};
    const struct front_key share[] = {
        {"share", FRONT_REAL, &law->share, "what a device's own expert takes, such as 0.5", .most = 1}};
    const struct node *seed = node_get(root, "seed"), *weights = NULL;
    law->seed = 1;
    if ((seed && node_integer(seed, "seed", &law->seed, st) < 0) ||
        (zipf && FRONT_READ(root, exponent, st) < 0) || (hot && FRONT_READ(root, share, st) < 0))
        return st->code;
    for (int e = 0; e < r->experts; e++)
        law->weight[e] = zipf ? pow(e + 1, -law->exponent) : 1;
    if (law->draw == DRAW_MULTINOMIAL) {
        code = node_need(root, "weights", &weights, st);
        if (code == 0)
            code = read_weights(weights, r->experts, law->weight, st);
    }
    return code;
}

/* Draws the experts of one token, all different: a repeated one is drawn again. If too few have a weight, the
 * first of the others are added. */
static void draw_experts(const struct routing *r, const struct categorical *categorical,
                         struct generator *generator, struct routing_entry entry[])
{
    enum { TRIES = 1000 };
    for (int slot = 0; slot < r->top_k; slot++) {
        int tries = 0, e = 0, other = 0;
        do {
            e = tries < TRIES ? categorical_draw(categorical, generator) : tries - TRIES;
            for (other = 0; other < slot && entry[other].expert != e; other++)
                ;
            tries++;
        } while (other < slot);
        entry[slot].expert = e;
    }
}

/* The softmax of top_k normal numbers, the largest first; they are drawn even if nobody reads it, as the generator goes on from
 * them. */
static void draw_gates(const struct routing *r, struct generator *generator, struct routing_entry entry[])
{
    int top_k = r->top_k;
    double gate[EXPERTS_TOP], sum = 0;
    for (int slot = 0; slot < top_k; slot++)
        gate[slot] = -generator_normal(generator);
    if (r->counted)
        return;
    sample_sort(gate, (size_t)top_k);
    for (int slot = 0; slot < top_k; slot++)
        sum += gate[slot] = exp(-gate[slot]);
    for (int slot = 0; slot < top_k; slot++)
        entry[slot].gate = gate[slot] / sum;
}

/* Draws the entries of a device, and counts them. */
static int draw_device(struct routing *r, struct law *law, int device, struct generator *generator,
                       struct status *st)
{
    struct routing_entry *entry = r->entry + (r->counted ? 0 : device * routing_entries(r));
    struct categorical *categorical = NULL;
    int own = 0;
    if (law->draw == DRAW_HOT) {
        own = (int)(generator_uniform(generator) * r->experts);
        for (int e = 0; e < r->experts; e++)
            law->weight[e] = (1 - law->share) / r->experts + (e == own ? law->share : 0);
    }
    if (categorical_init(&categorical, law->weight, r->experts, st) < 0)
        return st->code;
    for (int64_t t = 0; t < r->tokens; t++) {
        struct routing_entry *first = entry + t * r->top_k;
        if (law->draw == DRAW_EVEN)
            for (int slot = 0; slot < r->top_k; slot++)
                first[slot].expert = (int32_t)((t * r->top_k + slot) % r->experts);
        else
            draw_experts(r, categorical, generator, first);
        if (!r->counted || law->draw != DRAW_EVEN)
            draw_gates(r, generator, first);
    }
    count_entries(r, device, entry);
    categorical_free(categorical);
    return 0;
}

static int draw_devices(struct routing *r, struct law *law, uint64_t seed, struct status *st)
{
    struct generator *generator = NULL;
    int code = generator_open(&generator, seed, st);
    for (int d = 0; d < r->devices && code == 0; d++)
        code = draw_device(r, law, d, generator, st);
    generator_close(generator);
    return code;
}

/* Takes counts that another point has drawn, or draws them, and keeps them until there are enough. The generator takes 32 bits of the
 * seed: these are half of the key. */
static int draw_once(struct routing *r, struct law *law, uint64_t seed, struct status *st)
{
    enum { BYTES_MOST = 1 << 28 };
    const int64_t number[] = {law->draw, r->devices, r->experts, r->top_k, r->tokens};
    const size_t loads = (size_t)r->experts, own = (size_t)r->devices * loads * sizeof *r->routed;
    uint32_t hash = lookup_hash(lookup_hash(0, number, sizeof number), &law->share, sizeof law->share);
    uint64_t key =
        (uint64_t)lookup_hash(hash, law->weight, loads * sizeof *law->weight) << 32 | (uint32_t)seed;
    struct drawn *first = *r->drawn, *known = first;
    while (known && known->key != key)
        known = known->next;
    if (known)
        memcpy(r->routed, known->routed, own);
    if (known || draw_devices(r, law, seed, st) < 0 || (first && first->bytes > BYTES_MOST))
        return st->code;
    if (!(known = malloc(sizeof *known + own)))
        return status_nomem(st);
    *known = (struct drawn){first, key, own + (first ? first->bytes : 0)};
    memcpy(known->routed, r->routed, own);
    *r->drawn = known;
    return 0;
}

void drawn_free(struct drawn *first)
{
    for (struct drawn *next; first; first = next) {
        next = first->next;
        free(first);
    }
}

static int draw_all(struct routing *r, const struct node *root, int draw, int layer, struct status *st)
{
    struct law law = {.weight = calloc((size_t)r->experts + 1, sizeof *law.weight)};
    int code = law.weight ? read_law(&law, root, r, st) : status_nomem(st);
    /* layers are as far apart as can be among the seeds, of which the generator takes 32 bits (Knuth 6.4) */
    uint64_t seed = (uint64_t)law.seed * 1000003u + (uint64_t)draw + (uint64_t)(layer - 1) * 2654435769u;
    if (code == 0)
        code = r->counted && r->drawn ? draw_once(r, &law, seed, st) : draw_devices(r, &law, seed, st);
    free(law.weight);
    return code;
}

bool routing_differs(const struct node *node)
{
    struct status ignored = {0};
    const char *name = "";
    const struct node *draw = node_get(node, "draw"), *file = node_get(node, "file");
    if (draw)
        return node_text(draw, "draw", &name, &ignored) == 0 && strcmp(name, draws[DRAW_EVEN]) != 0;
    file = file ? file : node_get(node, "counts");
    return file && node_text(file, "file", &name, &ignored) == 0 && strstr(name, "{}");
}

int routing_read(struct routing *r, const struct node *node, const char *file, int draw, int layer,
                 struct status *st)
{
    static const char *const names[] = {"draw",    "file",  "counts", "exponent",
                                        "weights", "share", "seed",   NULL};
    int ways = 0;
    if (node_is_mapping(node, "routing", st) < 0 || node_only(node, names, st) < 0)
        return st->code;
    for (int i = 0; i < 3; i++)
        ways += node_get(node, names[i]) != NULL;
    if (ways != 1)
        return node_fail(node, st, STATUS_INPUT, "routing has %d of draw, file and counts; give one of them",
                         ways);
    if (routing_init(r, st) < 0)
        return st->code;
    const struct node *counts = node_get(node, "counts"), *entries = node_get(node, "file");
    return counts || entries ? read_file(r, counts ? counts : entries, file, layer, counts != NULL, st)
                             : draw_all(r, node, draw, layer, st);
}
