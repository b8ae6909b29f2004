/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whom the tokens of each layer with experts go to, what of that is sent in which chunk, and what the step is told of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/experts.h"
#include "settings/option.h"

const struct routing *experts_routing(const struct experts *x)
{
    return &x->model->experts->of[x->at].routing;
}

int experts_position(const struct experts *x, int device)
{
    return axis_list_position(&x->over, &x->model->axes, device);
}

int experts_read(struct experts *x, const struct axes *axes, struct status *st)
{
    const char *axis = "ep";
    const struct node *node = node_get(x->root, "expert-axis");
    int64_t experts = 0, top_k = 0;
    const struct front_key first[] = {
        {"expert-axis", FRONT_TEXT, .to = &axis},
        {"experts", FRONT_COUNT, &experts, "how many there are, such as 8", .most = EXPERTS_MOST}};
    if (FRONT_READ(x->root, first, st) < 0)
        return st->code;
    if (axis_list_parse(axis, axes, &x->over, st) < 0)
        return node_prefix(node ? node : x->root, st, st->code);
    const struct front_key second[] = {{"top-k", FRONT_COUNT, &top_k,
                                        "how many experts a token goes to, such as 2",
                                        .most = experts < EXPERTS_TOP ? (double)experts : EXPERTS_TOP}};
    if (FRONT_READ(x->root, second, st) < 0)
        return st->code;
    x->peers = axis_list_size(&x->over, axes);
    x->experts = (int)experts;
    x->top_k = (int)top_k;
    x->local = x->experts / x->peers;
    if (x->experts % x->peers)
        return node_fail(node_get(x->root, "experts"), st, STATUS_INPUT,
                         "%d experts do not divide among %d devices; the next number that does is %d",
                         x->experts, x->peers, (x->local + 1) * x->peers);
    return 0;
}

static int read_capacity(const struct experts *x, int64_t *capacity, struct status *st)
{
    const struct routing like = {
        .experts = x->experts, .top_k = x->top_k, .peers = x->peers, .tokens = x->tokens};
    const struct node *node = NULL;
    const char *factor;
    if (node_need(x->root, "capacity-factor", &node, st) < 0 ||
        node_text(node, "capacity-factor", &factor, st) < 0)
        return st->code;
    int code = routing_capacity(&like, factor, capacity, st);
    return code < 0 ? node_prefix(node, st, code) : 0;
}

/* One, unless the point says otherwise; the option's default is for loops of all-reduces. */
static int read_chunks(struct experts *x, const struct point *point, struct status *st)
{
    x->chunks = point->given[option_index(option_by_name("chunks"))] ? point->schedule.chunks : 1;
    return x->chunks >= 1 && x->chunks <= OVERLAP_CHUNKS
               ? 0
               : status_fail(st, STATUS_INPUT, "--chunks %d: write 1 to %d", x->chunks, OVERLAP_CHUNKS);
}

/* A layer's routing, drawn or from a file. Who asks for times only wants to know how many rows go where, not which. */
static int read_routing(const struct experts *x, const struct node *node, const struct point *point,
                        struct routed *of, struct status *st)
{
    int64_t capacity = 0;
    of->routing = (struct routing){.devices = axes_devices(&x->model->axes),
                                   .experts = x->experts,
                                   .top_k = x->top_k,
                                   .peers = x->peers,
                                   .tokens = x->tokens};
    if (read_capacity(x, &capacity, st) < 0 ||
        routing_read(&of->routing, node, point->work.file, x->model->options.draw, of->layer, st) < 0)
        return st->code;
    if (!x->model->options.numbers && x->exchange == EXCHANGE_RAGGED)
        routing_forget_entries(&of->routing);
    return routing_limit(&of->routing, capacity, st);
}

/* Where the same model runs on more devices, the tokens of all of them as they are routed there, in the order in which they stand
 * in the whole. */
static int join_routing(const struct experts *x, const struct routing *like, struct routing *one,
                        struct status *st)
{
    const struct model *from = x->model->like;
    if (x->tokens != like->tokens * like->devices)
        return status_fail(
            st, STATUS_INPUT,
            "there are %lld tokens, on the mesh %lld; give sizes that do not depend on how many "
            "devices there are, such as batch instead of tokens-per-chip",
            (long long)x->tokens, (long long)like->tokens * like->devices);
    int *device = malloc(((size_t)like->devices + 1) * sizeof *device);
    if (!device)
        return status_nomem(st);
    for (int d = 0; d < like->devices; d++)
        device[axis_list_position(&from->experts->tokens, &from->axes, d)] = d;
    int code = routing_join(one, like, device, st);
    free(device);
    return code;
}

static int read_routings(struct experts *x, const struct point *point, struct status *st)
{
    const struct node *node = NULL;
    const struct model *like = x->model->like;
    struct model_experts *e = x->model->experts;
    int code = node_need(x->root, "routing", &node, st);
    if (code < 0)
        return code;
    x->plans = routing_differs(node) ? x->layers_with : 1;
    e->drawn = node_get(node, "draw") != NULL;
    e->of = calloc((size_t)x->plans + 1, sizeof *e->of);
    x->plan = calloc((size_t)x->plans + 1, sizeof *x->plan);
    if (!e->of || !x->plan)
        return status_nomem(st);
    while (e->count < x->plans && code == 0) {
        struct routed *of = &e->of[e->count++];
        of->layer = e->count * x->every;
        code = like ? join_routing(x, &like->experts->of[e->count - 1].routing, &of->routing, st)
                    : read_routing(x, node, point, of, st);
        if (code == 0)
            code = dispatch_init(&of->dispatch, &of->routing, st);
    }
    return code;
}

/* A block of rows from one device to another is cut into chunks that differ by one row at most. */
static int64_t buffer_rows(const struct experts *x)
{
    int64_t capacity = 0;
    for (int p = 0; p < x->plans; p++) {
        int64_t own = x->model->experts->of[p].routing.capacity;
        capacity = own > capacity ? own : capacity;
    }
    return x->peers * ((capacity * x->local + x->chunks - 1) / x->chunks);
}

int experts_read_routing(struct experts *x, const struct axis_list *tokens, const struct point *point,
                         struct status *st)
{
    int64_t capacity;
    x->entries = x->tokens * x->top_k;
    if (x->entries > INT32_MAX)
        return node_fail(x->root, st, STATUS_LIMIT, "%lld tokens with %d experts each are more than %d rows",
                         (long long)x->tokens, x->top_k, INT32_MAX);
    for (int a = 0; a < x->model->axes.count; a++)
        x->all.axis[x->all.count++] = a;
    struct model_experts *e = x->model->experts = calloc(1, sizeof *e);
    if (!e)
        return status_nomem(st);
    if (read_capacity(x, &capacity, st) < 0 || read_chunks(x, point, st) < 0 ||
        read_routings(x, point, st) < 0)
        return st->code;
    e->over = x->over;
    e->tokens = *tokens;
    e->chunks = x->chunks;
    x->buffer = buffer_rows(x);
    x->key = (double)(x->buffer + x->tokens * x->peers) * (x->local + 1) > INT32_MAX ? DTYPE_S64 : DTYPE_S32;
    return 0;
}

void experts_free(struct experts *x)
{
    for (int p = 0; x->plan && p < x->plans; p++) {
        for (int c = 0; x->plan[p].chunk && c < x->chunks; c++) {
            ragged_rows_free(&x->plan[p].chunk[c].sent);
            ragged_rows_free(&x->plan[p].chunk[c].back);
            ragged_rows_free(&x->plan[p].chunk[c].mine);
        }
        free(x->plan[p].chunk);
    }
    free(x->plan);
}

double *experts_give(struct experts *x, const char *name, const char *what, int64_t each, enum dtype_id dtype,
                     int32_t *made)
{
    struct model *model = x->model;
    struct status why = {0};
    struct tensor t = {.dims = 1, .dim = {{.n = axes_devices(&model->axes) * each, .shard = x->all}}};
    x->b->what = what;
    *made = model_input(model, name, &t, dtype, false).value;
    if (!experts_routing(x)->entry || model->module.error)
        return NULL;
    struct array *given = &model->input[model->inputs - 1].given;
    if (array_init(given, 1, &t.dim[0].n, dtype_is_whole(dtype), &why) < 0)
        tensor_fail_as(x->b, &why);
    return given->data;
}

/* "order"; of several plans and chunks "order4", "order2", "order4_2": the layer's, the chunk's, both. */
static char *number_name(const struct experts *x, const char *stem, int chunk, char name[static TENSOR_NAME])
{
    int n = snprintf(name, TENSOR_NAME, "%s", stem);
    if (x->plans > 1)
        n += snprintf(name + n, (size_t)(TENSOR_NAME - n), "%d", x->model->experts->of[x->at].layer);
    if (x->chunks > 1 && chunk >= 0)
        snprintf(name + n, (size_t)(TENSOR_NAME - n), x->plans > 1 ? "_%d" : "%d", chunk + 1);
    return name;
}

static void fill(double *table, const int64_t value[], int64_t values)
{
    for (int64_t i = 0; table && i < values; i++)
        table[i] = (double)value[i];
}

/* Inputs of a chunk. Of each row that is sent `local` says the expert, among those of its device. */
static void declare_chunk(struct experts *x, int c, const struct dispatch *part)
{
    const struct routing *r = experts_routing(x);
    struct chunk *chunk = &x->plan[x->at].chunk[c];
    char name[TENSOR_NAME];
    int64_t rows = part->rows, slots = (int64_t)part->devices * part->peers;
    number_name(x, "order", c, name);
    fill(experts_give(x, name, "order", rows, DTYPE_S32, &chunk->order), part->order, part->devices * rows);
    number_name(x, "local", c, name);
    double *local = experts_give(x, name, "local experts", rows, DTYPE_S32, &chunk->local);
    for (int64_t i = 0; local && i < part->devices * rows; i++)
        local[i] = r->entry[i / rows * x->entries + part->order[i]].expert % x->local;
    number_name(x, "size", c, name);
    fill(experts_give(x, name, "sizes", part->peers, DTYPE_S32, &chunk->size), part->size, slots);
    number_name(x, "offset", c, name);
    fill(experts_give(x, name, "offsets", part->peers, DTYPE_S32, &chunk->offset), part->offset, slots);
}

/* How many rows go where in a chunk. */
static int count_rows(struct chunk *chunk, const struct dispatch *part, const struct groups *groups,
                      struct status *st)
{
    if (ragged_rows_init(&chunk->sent, part->devices, part->peers, st) < 0 ||
        ragged_rows_init(&chunk->mine, part->devices, 1, st) < 0)
        return st->code;
    int slots = part->devices * part->peers;
    memcpy(chunk->sent.row, part->size, (size_t)slots * sizeof *part->size);
    if (ragged_rows_turned(&chunk->sent, groups->member, &chunk->back, st) < 0)
        return st->code;
    for (int i = 0; i < slots; i++)
        chunk->mine.row[i / part->peers] += chunk->back.row[i];
    chunk->rows = part->rows;
    return 0;
}

/* Gates, trained; with a router where an entry's logit stands among those of its device: [tokens][experts], row by row. */
static void declare_gates(struct experts *x)
{
    const struct routing *r = experts_routing(x);
    struct plan *plan = &x->plan[x->at];
    char name[TENSOR_NAME];
    number_name(x, x->router ? "logit" : "gate", -1, name);
    double *table = x->router ? experts_give(x, name, "router", x->entries, DTYPE_S32, &plan->logit)
                              : experts_give(x, name, "gates", x->entries, x->dtype, &plan->gate);
    if (!x->router && x->model->module.error == 0)
        x->model->input[x->model->inputs - 1].trained = true;
    for (int64_t i = 0; table && i < r->devices * x->entries; i++)
        table[i] = x->router ? (double)(i % x->entries / x->top_k) * x->experts + r->entry[i].expert : r->entry[i].gate;
}

static int declare_plan(struct experts *x, const struct groups *groups, struct status *st)
{
    const struct dispatch *whole = &x->model->experts->of[x->at].dispatch;
    struct plan *plan = &x->plan[x->at];
    plan->chunk = calloc((size_t)x->chunks, sizeof *plan->chunk);
    if (!plan->chunk)
        return status_nomem(st);
    declare_gates(x);
    for (int c = 0; c < x->chunks; c++) {
        struct dispatch part = {0};
        int code = dispatch_part(&part, whole, c, x->chunks, st);
        if (code == 0)
            code = count_rows(&plan->chunk[c], &part, groups, st);
        if (code == 0)
            declare_chunk(x, c, &part);
        dispatch_free(&part);
        if (code < 0)
            return code;
    }
    return 0;
}

void experts_declare_plans(struct experts *x)
{
    struct groups groups = {0};
    struct status why = {0};
    int code = groups_over_axes(&x->model->axes, &x->over, &groups, &why);
    for (x->at = 0; x->at < x->plans && code == 0; x->at++)
        code = declare_plan(x, &groups, &why);
    if (code < 0)
        tensor_fail_as(x->b, &why);
    groups_free(&groups);
    x->at = 0;
}
