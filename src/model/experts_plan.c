/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whom the tokens of each layer with experts go to, and what of that is sent in which chunk. */
#include <stdlib.h>
#include <string.h>

#include "model/experts_build.h"
#include "settings/option.h"

const struct routing *experts_routing(const struct experts *x)
{
    return &x->model->experts->of[x->at].routing;
}

static int read_capacity(struct experts *x, int64_t *capacity, struct status *st)
{
    const struct node *node = NULL;
    int code = node_need(x->root, "capacity-factor", &node, st);
    if (code == 0)
        code = node_text(node, "capacity-factor", &x->factor, st);
    if (code == 0 &&
        (code = dispatch_capacity(x->factor, x->tokens, x->top_k, x->peers, x->experts, capacity, st)) < 0)
        return node_prefix(node, st, code);
    return code;
}

/* One, unless the point says otherwise; the option's default is for loops of all-reduces. */
static int read_chunks(struct experts *x, const struct point *point, struct status *st)
{
    x->chunks = point->given[option_index(option_by_name("chunks"))] ? point->schedule.chunks : 1;
    return x->chunks >= 1 && x->chunks <= OVERLAP_CHUNKS
               ? 0
               : status_fail(st, STATUS_INPUT, "--chunks %d: write 1 to %d", x->chunks, OVERLAP_CHUNKS);
}

/* A layer's routing, drawn or from a file, and its dispatch. Who asks for times only wants to know how many rows go where, not
 * which. */
static int read_routed(struct experts *x, const struct node *node, int64_t capacity,
                       const struct point *point, struct routed *of, struct status *st)
{
    of->routing = (struct routing){.devices = axes_devices(&x->model->axes),
                                   .experts = x->experts,
                                   .top_k = x->top_k,
                                   .tokens = x->tokens};
    int code = routing_read(&of->routing, node, point->work.file, x->model->options.draw, of->layer, st);
    if (code == 0 && !x->model->options.numbers && x->exchange == EXCHANGE_RAGGED)
        routing_forget_entries(&of->routing);
    return code < 0 ? code : dispatch_init(&of->dispatch, &of->routing, x->peers, capacity, st);
}

/* Where the same model runs on more devices, the tokens of all of them as they are routed there, in the order in which they stand
 * in the whole. */
static int join_routed(const struct experts *x, const struct routed *like, struct routed *of,
                       struct status *st)
{
    const struct model *from = x->model->like;
    int devices = like->routing.devices;
    if (x->tokens != like->routing.tokens * devices)
        return status_fail(
            st, STATUS_INPUT,
            "there are %lld tokens, on the mesh %lld; give sizes that do not depend on how many "
            "devices there are, such as batch instead of tokens-per-chip",
            (long long)x->tokens, (long long)like->routing.tokens * devices);
    int *device = malloc(((size_t)devices + 1) * sizeof *device);
    if (!device)
        return status_nomem(st);
    for (int d = 0; d < devices; d++)
        device[axis_list_position(&from->experts->tokens, &from->axes, d)] = d;
    int code = routing_join(&of->routing, &like->routing, device, st);
    if (code == 0)
        code = dispatch_join(&of->dispatch, &of->routing, &like->dispatch, device, st);
    free(device);
    return code;
}

static int read_plans(struct experts *x, int64_t capacity, const struct point *point, struct status *st)
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
    if (!e->of)
        return status_nomem(st);
    for (e->count = 0; e->count < x->plans && code == 0;) {
        struct routed *of = &e->of[e->count++];
        of->layer = e->count * x->every;
        code = like ? join_routed(x, &like->experts->of[e->count - 1], of, st)
                    : read_routed(x, node, capacity, point, of, st);
    }
    return code;
}

/* How many rows go where in each chunk. */
static int fill_chunk(struct experts *x, int plan, int c, const struct groups *groups, struct status *st)
{
    const struct dispatch *d = &x->model->experts->of[plan].dispatch;
    struct chunk *chunk = &x->plan[plan].chunk[c];
    int code = dispatch_part_init(&chunk->part, d, c, x->chunks, st);
    if (code == 0)
        code = ragged_rows_init(&chunk->sent, d->devices, d->peers, st);
    if (code == 0)
        code = ragged_rows_init(&chunk->mine, d->devices, 1, st);
    if (code < 0)
        return code;
    memcpy(chunk->sent.row, chunk->part.size,
           (size_t)d->devices * (size_t)d->peers * sizeof *chunk->part.size);
    code = ragged_rows_turned(&chunk->sent, groups->member, &chunk->back, st);
    for (int i = 0; code == 0 && i < d->devices * d->peers; i++)
        chunk->mine.row[i / d->peers] += chunk->back.row[i];
    return code;
}

static int fill_plans(struct experts *x, struct status *st)
{
    struct groups groups = {0};
    int code = groups_over_axes(&x->model->axes, &x->over, &groups, st);
    x->plan = calloc((size_t)x->plans + 1, sizeof *x->plan);
    if (code == 0 && !x->plan)
        code = status_nomem(st);
    for (int p = 0; p < x->plans && code == 0; p++) {
        x->plan[p].chunk = calloc((size_t)x->chunks, sizeof *x->plan[p].chunk);
        if (!x->plan[p].chunk)
            code = status_nomem(st);
        for (int c = 0; c < x->chunks && code == 0; c++)
            code = fill_chunk(x, p, c, &groups, st);
    }
    groups_free(&groups);
    return code;
}

/* A block of rows from one device to another is cut into chunks that differ by one row at most. */
static int64_t buffer_rows(const struct experts *x)
{
    int64_t capacity = 0;
    for (int p = 0; p < x->plans; p++) {
        int64_t own = x->model->experts->of[p].dispatch.capacity;
        capacity = own > capacity ? own : capacity;
    }
    return x->peers * ((capacity * x->local + x->chunks - 1) / x->chunks);
}

int experts_read_routing(struct experts *x, const struct axis_list *tokens, const struct point *point,
                         struct status *st)
{
    int64_t capacity = 0;
    struct model_experts *e = calloc(1, sizeof *e);
    x->model->experts = e;
    int code = e ? read_capacity(x, &capacity, st) : status_nomem(st);
    if (code == 0)
        code = read_chunks(x, point, st);
    if (code == 0)
        code = read_plans(x, capacity, point, st);
    if (code < 0)
        return code;
    e->over = x->over;
    e->tokens = *tokens;
    e->chunks = x->chunks;
    x->buffer = buffer_rows(x);
    x->key = (double)(x->buffer + x->tokens * x->peers) * (x->local + 1) > INT32_MAX ? DTYPE_S64 : DTYPE_S32;
    return fill_plans(x, st);
}

static void free_chunk(struct chunk *chunk)
{
    dispatch_part_free(&chunk->part);
    ragged_rows_free(&chunk->sent);
    ragged_rows_free(&chunk->back);
    ragged_rows_free(&chunk->mine);
}

void experts_free(struct experts *x)
{
    ragged_rows_free(&x->mine);
    free(x->place);
    for (int p = 0; x->plan && p < x->plans; p++) {
        for (int c = 0; x->plan[p].chunk && c < x->chunks; c++)
            free_chunk(&x->plan[p].chunk[c]);
        free(x->plan[p].chunk);
    }
    free(x->plan);
}
