/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What parts hand to one another: who has what, and who needs it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "study/parts_file.h"

int parts_need_text(const struct node *node, const char *name, const char **text, struct status *st)
{
    const struct node *value = NULL;
    int code = node_need(node, name, &value, st);
    return code < 0 ? code : node_text(value, name, text, st);
}

int parts_read_time(const struct node *node, double *time_s, struct status *st)
{
    const struct node *value = node_get(node, "time");
    const char *text;
    *time_s = NAN;
    int code = value ? node_text(value, "time", &text, st) : 0;
    if (value && code == 0 && (code = units_parse_time("time", text, time_s, st)) < 0)
        node_prefix(value, st, code);
    return code;
}

/* A transfer between two parts: the one that there is, whose bytes become more, or a new one. */
static struct transfer *add_transfer(struct parts *s, int from, int to, double given_s, struct status *st)
{
    for (int t = 0; t < s->transfers && isnan(given_s); t++)
        if (s->transfer[t].from == from && s->transfer[t].to == to && isnan(s->transfer[t].given_s))
            return &s->transfer[t];
    struct transfer *made = &s->transfer[s->transfers];
    size_t pairs = (size_t)s->part[from].mesh.devices * (size_t)s->part[to].mesh.devices;
    *made = (struct transfer){.from = from, .to = to, .given_s = given_s};
    made->bytes = calloc(pairs + 1, sizeof *made->bytes);
    if (!made->bytes) {
        status_nomem(st);
        return NULL;
    }
    s->part[from].gives = s->part[to].gets = true;
    s->transfers++;
    return made;
}

/* "teacher.y": the part, and the name after it, "" where there is none. */
static int read_end(const struct parts *s, const struct node *node, const char *key, int *part,
                    const char **tensor, struct status *st)
{
    const char *text;
    int code = parts_need_text(node, key, &text, st);
    if (code < 0)
        return code;
    size_t n = strcspn(text, ".");
    for (*part = 0; *part < s->parts; ++*part)
        if (strlen(s->part[*part].name) == n && strncmp(text, s->part[*part].name, n) == 0)
            break;
    *tensor = text + n + (text[n] == '.');
    if (*part == s->parts)
        return node_fail(node, st, STATUS_INPUT, "there is no part '%.*s'; the first one is %s", (int)n, text,
                         s->part[0].name);
    return 0;
}

static int find_tensor(const struct model_tensor list[], int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return i;
    return -1;
}

static int no_tensor(const struct part *part, const char *name, const struct node *node, struct status *st)
{
    if (!isnan(part->given_s))
        return node_fail(node, st, STATUS_INPUT,
                         "%s has a time, and so no tensors; write {from: PART, to: PART, time: 20us}",
                         part->name);
    return node_fail(node, st, STATUS_INPUT, "there is no tensor '%s.%s'; write %s.%s", part->name, name,
                     part->name, part->model.inputs ? part->model.input[0].name : "x");
}

static const struct model_tensor *given_of(const struct parts *s, const struct handover *h)
{
    const struct model *model = &s->part[h->from_part].model;
    return &(h->of_output ? model->output : model->input)[h->from];
}

static int check_sizes(const struct parts *s, const struct handover *h, const struct node *node,
                       struct status *st)
{
    const struct model *a = &s->part[h->from_part].model, *b = &s->part[h->to_part].model;
    const struct tensor *from = &given_of(s, h)->tensor, *to = &b->input[h->to].tensor;
    char text[2][TENSOR_TEXT];
    bool same = from->dims == to->dims;
    for (int d = 0; same && d < to->dims; d++)
        same = from->dim[d].n == to->dim[d].n;
    return same ? 0
                : node_fail(node, st, STATUS_INPUT, "%s cannot become %s; they must have the same sizes",
                            tensor_print(from, &a->axes, text[0]), tensor_print(to, &b->axes, text[1]));
}

/* Finds the two tensors; of outputs, what the forward pass gives. */
static int read_handover(struct parts *s, struct handover *h, const char *from, const char *to,
                         const struct node *node, struct status *st)
{
    const struct model *a = &s->part[h->from_part].model, *b = &s->part[h->to_part].model;
    h->from = find_tensor(a->input, a->inputs, from);
    h->of_output = h->from < 0 && find_tensor(a->output, a->outputs > 0, from) == 0;
    h->from = h->of_output ? 0 : h->from;
    h->to = find_tensor(b->input, b->inputs, to);
    if (h->from < 0)
        return no_tensor(&s->part[h->from_part], from, node, st);
    return h->to < 0 ? no_tensor(&s->part[h->to_part], to, node, st) : check_sizes(s, h, node, st);
}

/* Which elements of a dim device `d` holds: [low, high). */
static void find_block(const struct tensor *t, const struct axes *axes, int d, int device, int64_t range[2])
{
    int64_t each = t->dim[d].n / axis_list_size(&t->dim[d].shard, axes);
    range[0] = each * axis_list_position(&t->dim[d].shard, axes, device);
    range[1] = range[0] + each;
}

/* The number of a device among those that hold the same block. */
static int replica_of(const struct tensor *t, const struct axes *axes, int device, int *replicas)
{
    struct spec spec = tensor_spec(t);
    struct axis_list rest = {0};
    for (int a = 0; a < axes->count; a++)
        if (!spec_names_axis(&spec, a))
            rest.axis[rest.count++] = a;
    *replicas = axis_list_size(&rest, axes);
    return axis_list_position(&rest, axes, device);
}

/* What each device of the one mesh has of the block that a device of the other needs. Of several that have the same, device j
 * takes it from replica j mod their number. */
static void add_bytes(const struct parts *s, const struct handover *h, double bytes[])
{
    const struct part *a = &s->part[h->from_part], *b = &s->part[h->to_part];
    const struct model_tensor *from = given_of(s, h), *to = &b->model.input[h->to];
    int n = a->mesh.devices, m = b->mesh.devices;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            int replicas, replica = replica_of(&from->tensor, &a->model.axes, i, &replicas);
            double elements = replica == j % replicas;
            for (int d = 0; d < to->tensor.dims; d++) {
                int64_t has[2], needs[2];
                find_block(&from->tensor, &a->model.axes, d, i, has);
                find_block(&to->tensor, &b->model.axes, d, j, needs);
                int64_t low = has[0] > needs[0] ? has[0] : needs[0],
                        high = has[1] < needs[1] ? has[1] : needs[1];
                elements *= high > low ? (double)(high - low) : 0;
            }
            bytes[i * m + j] += elements * dtype_info(from->dtype)->bytes;
        }
}

static int read_transfer(struct parts *s, const struct node *node, struct status *st)
{
    static const char *const names[] = {"from", "to", "time", NULL};
    struct handover *h = &s->handover[s->handovers];
    const char *from, *to;
    double given_s;
    int code = node_is_mapping(node, "a transfer", st);
    if (code == 0)
        code = node_only(node, names, st);
    if (code == 0)
        code = parts_read_time(node, &given_s, st);
    if (code == 0)
        code = read_end(s, node, "from", &h->from_part, &from, st);
    if (code == 0)
        code = read_end(s, node, "to", &h->to_part, &to, st);
    if (code == 0 && isnan(given_s))
        code = read_handover(s, h, from, to, node, st);
    else if (code == 0 && (*from || *to))
        code = node_fail(node, st, STATUS_INPUT,
                         "a transfer with a time is from a part to a part; leave the names of tensors out");
    if (code < 0)
        return code;
    const struct transfer *transfer = add_transfer(s, h->from_part, h->to_part, given_s, st);
    if (transfer && isnan(given_s)) {
        add_bytes(s, h, transfer->bytes);
        s->handovers++;
    }
    return st->code;
}

/* {time: 20us}: each part hands on to the next. */
static int read_chain(struct parts *s, const struct node *list, struct status *st)
{
    double given_s;
    int code = parts_read_time(list, &given_s, st);
    if (code == 0 && isnan(given_s))
        code = node_fail(list, st, STATUS_INPUT, "transfers are a list, or a time, {time: 20us}");
    for (int p = 0; p + 1 < s->parts && code == 0; p++)
        code = add_transfer(s, p, p + 1, given_s, st) ? 0 : st->code;
    return code;
}

int parts_read_transfers(struct parts *s, const struct node *root, struct status *st)
{
    const struct node *list = node_get(root, "transfers");
    if (!list && s->parts == 1)
        return 0;
    if (node_need(root, "transfers", &list, st) < 0)
        return st->code;
    bool chain = node_kind(list) == NODE_MAPPING;
    size_t room = (size_t)(chain ? s->parts : node_count(list)) + 1;
    s->transfer = calloc(room, sizeof *s->transfer);
    s->handover = calloc(room, sizeof *s->handover);
    int code = s->transfer && s->handover ? 0 : status_nomem(st);
    if (code == 0 && chain)
        return read_chain(s, list, st);
    if (code == 0)
        code = node_is_sequence(list, "transfers", st);
    for (int i = 0; code == 0 && i < node_count(list); i++)
        code = read_transfer(s, node_child(list, i), st);
    return code;
}
