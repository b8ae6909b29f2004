/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The routing of each layer with experts, its dispatch in chunks, and the resulting inputs of the step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/experts.h"
#include "settings/option.h"

struct routed *experts_routed(const struct experts *x)
{
    return &x->model->experts->of[x->at];
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

/* Reads the capacity of the file; "none": an expert takes all rows. */
static int read_capacity(struct experts *x, struct status *st)
{
    static const char *const by[] = {"receiver", "sender", NULL};
    static const char *const products[] = {"ragged", "dropped", NULL};
    const struct node *node = NULL;
    int by_sender = x->by_sender;
    const struct front_key keys[] = {{"capacity-by", FRONT_WORD, .to = &by_sender, .words = by},
                                     {"products", FRONT_WORD, .to = &x->products, .words = products}};
    if (node_need(x->root, "capacity-factor", &node, st) < 0 ||
        node_text(node, "capacity-factor", &x->factor, st) < 0)
        return st->code;
    x->factor = strcmp(x->factor, "none") == 0 ? NULL : x->factor;
    x->products = x->factor ? x->products : PRODUCTS_RAGGED;
    if (FRONT_READ(x->root, keys, st) < 0)
        return st->code;
    x->by_sender = by_sender;
    if (x->products == PRODUCTS_DROPPED && (!x->factor || !x->by_sender || x->exchange != EXCHANGE_RAGGED))
        return node_fail(node_get(x->root, "products"), st, STATUS_INPUT,
                         "products: dropped are of all rows that a sender's capacity has room for; add "
                         "capacity-by: sender, and a capacity-factor that is a number");
    return 0;
}

/* Sets the properties of all routings; drawn routings and those from a file get the capacity of the file's
 * factor. */
static int begin_routing(struct experts *x, struct status *st)
{
    struct routing *like = &x->like, one;
    *like = (struct routing){.devices = axes_devices(&x->model->axes),
                             .experts = x->experts,
                             .top_k = x->top_k,
                             .peers = x->peers,
                             .tokens = x->tokens,
                             .capacity = x->tokens,
                             .drawn = x->model->options.drawn};
    if (read_capacity(x, st) < 0)
        return st->code;
    one = *like;
    one.peers = x->by_sender ? 1 : x->peers;
    int code = x->factor ? routing_capacity(&one, x->factor, &like->capacity, st) : 0;
    return code < 0 ? node_prefix(node_get(x->root, "capacity-factor"), st, code) : 0;
}

/* Reads or draws a layer's routing. For times alone, only the numbers of rows are needed, not the rows
 * themselves. */
static int read_routing(const struct experts *x, const struct node *node, const struct point *point,
                        struct routed *of, struct status *st)
{
    of->routing = x->like;
    of->routing.counted = !x->model->options.numbers && x->exchange == EXCHANGE_RAGGED;
    if (routing_read(&of->routing, node, point->work.file, x->model->options.draw, of->layer, st) < 0)
        return st->code;
    if (of->routing.counted)
        routing_forget_entries(&of->routing);
    return routing_limit(&of->routing, st);
}

/* The routing on one device of a model that also runs on a mesh: the routings of the mesh's devices, joined
 * in the order of the whole batch. */
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
    int count = routing_differs(node) ? x->layers_with : 1;
    e->by_chance = node_get(node, "draw") != NULL;
    e->of = calloc((size_t)count + 1, sizeof *e->of);
    if (!e->of)
        return status_nomem(st);
    while (e->count < count && code == 0) {
        struct routed *of = &e->of[e->count++];
        of->layer = (x->before + e->count) * x->every;
        code = like ? join_routing(x, &like->experts->of[e->count - 1].routing, &of->routing, st)
                    : read_routing(x, node, point, of, st);
        if (code == 0)
            code = dispatch_init(&of->dispatch, &of->routing, st);
    }
    return code;
}

/* The rows of the larger chunks from one device to another: chunks differ by one row at most. */
static int64_t chunk_rows(const struct experts *x, int64_t rows)
{
    return (rows + x->chunks - 1) / x->chunks;
}

/* The maximum number of rows that a device receives in a chunk; `come` is scratch. */
static int64_t most_rows(const struct experts *x, int64_t come[])
{
    const struct model_experts *e = x->model->experts;
    int64_t most = 1;
    for (int i = 0; i < e->count; i++) {
        const struct dispatch *d = &e->of[i].dispatch;
        memset(come, 0, (size_t)d->devices * sizeof *come);
        for (int at = 0; at < d->devices; at++)
            for (int j = 0; j < d->peers; j++)
                come[e->groups.member[at / d->peers * d->peers + j]] +=
                    chunk_rows(x, d->size[e->groups.member[at] * d->peers + j]);
        for (int at = 0; at < d->devices; at++)
            most = come[at] > most ? come[at] : most;
    }
    return most;
}

/* A device has room for the capacity of its experts; without a capacity, for as many rows as any device
 * receives. If only times are needed, buffers are no larger than that, unless the whole capacity is sent. */
static int find_buffer(struct experts *x, struct status *st)
{
    const struct model_experts *e = x->model->experts;
    bool capacity = x->factor || x->model->like;
    int64_t most = 0, *come = malloc((size_t)x->like.devices * sizeof *come);
    if (!come)
        return status_nomem(st);
    for (int i = 0; i < e->count; i++)
        most = e->of[i].routing.capacity > most ? e->of[i].routing.capacity : most;
    x->room = x->peers * chunk_rows(x, most * x->local);
    if (!capacity || (x->products == PRODUCTS_RAGGED && x->model->options.rows_that_come))
        x->buffer = most_rows(x, come);
    else
        x->buffer = x->room;
    x->room = capacity ? x->room : x->buffer;
    free(come);
    return 0;
}

int experts_read_routing(struct experts *x, const struct axis_list *tokens, const struct point *point,
                         struct status *st)
{
    x->entries = x->tokens * x->top_k;
    if (x->entries > INT32_MAX)
        return node_fail(x->root, st, STATUS_LIMIT, "%lld tokens with %d experts each are more than %d rows",
                         (long long)x->tokens, x->top_k, INT32_MAX);
    for (int a = 0; a < x->model->axes.count; a++)
        x->all.axis[x->all.count++] = a;
    struct model_experts *e = x->model->experts = calloc(1, sizeof *e);
    if (!e)
        return status_nomem(st);
    if (begin_routing(x, st) < 0)
        return st->code;
    x->chunks = option_is_given(point, "chunks") ? point->schedule.chunks : 1; /* the default is for loops */
    e->tokens = *tokens;
    e->chunks = x->chunks;
    if (groups_over_axes(&x->model->axes, &x->over, &e->groups, st) < 0 || read_routings(x, point, st) < 0)
        return st->code;
    if (find_buffer(x, st) < 0)
        return st->code;
    x->key = (double)(x->buffer + x->tokens * x->peers) * (x->local + 1) > INT32_MAX ? DTYPE_S64 : DTYPE_S32;
    return 0;
}

double *experts_give(struct experts *x, const char *name, const char *what, int64_t each, enum dtype_id dtype,
                     int32_t *made)
{
    struct model *model = x->model;
    struct status why = {0};
    struct tensor t = {.dims = 1, .dim = {{.n = axes_devices(&model->axes) * each, .shard = x->all}}};
    x->b->what = what;
    *made = model_input(model, name, &t, dtype, false).value;
    if (!experts_routed(x)->routing.entry || model->module.error)
        return NULL;
    struct array *given = &model->input[model->inputs - 1].given;
    if (array_init(given, 1, &t.dim[0].n, dtype, &why) < 0)
        tensor_fail_as(x->b, &why);
    return given->data;
}

/* The name of an input: "order"; "order4" of layer 4 if there are several plans, "order2" of chunk 2 if there are several
 * chunks, "order4_2" with both. */
static char *number_name(const struct experts *x, const char *stem, int chunk, char name[static TENSOR_NAME])
{
    int n = snprintf(name, TENSOR_NAME, "%s", stem);
    bool several = x->model->experts->count > 1;
    if (several)
        n += snprintf(name + n, (size_t)(TENSOR_NAME - n), "%d", experts_routed(x)->layer);
    if (x->chunks > 1 && chunk >= 0)
        snprintf(name + n, (size_t)(TENSOR_NAME - n), several ? "_%d" : "%d", chunk + 1);
    return name;
}

/* An input of a chunk, with `each` numbers per device. */
static int32_t give_chunk(struct experts *x, const char *stem, const char *what, int c, int64_t each,
                          const int64_t value[])
{
    char name[TENSOR_NAME];
    int32_t made;
    double *table = experts_give(x, number_name(x, stem, c, name), what, each, DTYPE_S32, &made);
    for (int64_t i = 0; table && i < x->model->input[x->model->inputs - 1].tensor.dim[0].n; i++)
        table[i] = (double)value[i];
    return made;
}

/* The inputs of a chunk. `local` is the expert of each sent row, counted on its own device. */
static void declare_chunk(struct experts *x, int c, const struct dispatch *part)
{
    const struct routing *r = &experts_routed(x)->routing;
    struct chunk *chunk = &experts_routed(x)->chunk[c];
    char name[TENSOR_NAME];
    chunk->rows = part->rows;
    chunk->order = give_chunk(x, "order", "order", c, part->rows, part->order);
    number_name(x, "local", c, name);
    double *local = experts_give(x, name, "local experts", part->rows, DTYPE_S32, &chunk->local);
    for (int64_t i = 0; local && i < part->devices * part->rows; i++)
        local[i] = r->entry[i / part->rows * x->entries + part->order[i]].expert % x->local;
    chunk->size = give_chunk(x, "size", "sizes", c, part->peers, part->size);
    chunk->offset = give_chunk(x, "offset", "offsets", c, part->peers, part->offset);
}

int experts_count_chunk(const struct experts *x, struct chunk *chunk, struct status *st)
{
    if (ragged_rows_turned(&chunk->sent, x->model->experts->groups.member, &chunk->back, st) < 0 ||
        ragged_rows_init(&chunk->mine, chunk->sent.devices, 1, st) < 0)
        return st->code;
    for (int i = 0; i < chunk->sent.devices * x->peers; i++)
        chunk->mine.row[i / x->peers] += chunk->back.row[i];
    return 0;
}

/* Declares gates, which are trained; with a router instead the index of each entry's logit in the device's
 * logits [tokens][experts]. */
static void declare_gates(struct experts *x)
{
    struct routed *of = experts_routed(x);
    const struct routing *r = &of->routing;
    char name[TENSOR_NAME];
    number_name(x, x->router ? "logit" : "gate", -1, name);
    double *table = x->router ? experts_give(x, name, "router", x->entries, DTYPE_S32, &of->logit)
                              : experts_give(x, name, "gates", x->entries, x->dtype, &of->gate);
    if (!x->router && x->model->module.error == 0)
        x->model->input[x->model->inputs - 1].trained = true;
    for (int64_t i = 0; table && i < r->devices * x->entries; i++)
        table[i] = x->router ? (double)(i % x->entries / x->top_k) * x->experts + r->entry[i].expert
                             : r->entry[i].gate;
}

static int declare_plan(struct experts *x, struct status *st)
{
    struct routed *of = experts_routed(x);
    int code = 0;
    of->chunk = calloc((size_t)x->chunks, sizeof *of->chunk);
    if (!of->chunk)
        return status_nomem(st);
    declare_gates(x);
    for (int c = 0; c < x->chunks && code == 0; c++) {
        struct dispatch part = {0};
        struct ragged_rows *sent = &of->chunk[c].sent;
        if (dispatch_part(&part, &of->dispatch, c, x->chunks, st) < 0 ||
            ragged_rows_init(sent, part.devices, part.peers, st) < 0)
            code = st->code;
        for (int i = 0; code == 0 && i < part.devices * part.peers; i++)
            sent->row[i] = x->products == PRODUCTS_DROPPED ? x->buffer / x->peers : part.size[i];
        if (code == 0 && (code = experts_count_chunk(x, &of->chunk[c], st)) == 0)
            declare_chunk(x, c, &part);
        dispatch_free(&part);
    }
    return code;
}

void experts_declare_plans(struct experts *x)
{
    struct status why = {0};
    for (x->at = 0; x->at < x->model->experts->count; x->at++)
        if (declare_plan(x, &why) < 0)
            tensor_fail_as(x->b, &why);
    x->at = 0;
}
