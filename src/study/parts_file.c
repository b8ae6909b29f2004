/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the file of a workload of parts, and finds the bytes of its transfers from the shardings of their tensors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/front.h"
#include "study/model_step.h"
#include "study/module_options.h"
#include "study/parts.h"

/* Lays a part's mesh over its chips. */
static int lay(struct parts *s, int which, const char *mesh, const char *on, struct status *st)
{
    const struct slice *slice = &s->machine->slice;
    int32_t *chip = malloc((size_t)slice->chips * sizeof *chip);
    int chips = chip ? machine_read_chips(on, chip, slice->chips, st) : status_nomem(st);
    int code = chips < 0 ? chips : mesh_init_on(&s->part[which].mesh, slice, mesh, chip, chips, st);
    free(chip);
    return code;
}

/* Reads a part's step. The mesh, chip and other options in the step's own file do not count. */
static int read_step(struct parts *s, struct part *part, const struct node *step, struct status *st)
{
    int code = front_path(step, s->point->work.file, "{}", part->path, st);
    if (code < 0)
        return code;
    part->point = *s->point;
    part->point.work.op = part->point.work.file = part->path;
    const struct model_options options = {.vmem_bytes = (double)s->machine->chip->vmem_bytes,
                                          .softmax_row = chip_softmax_row(s->machine->chip)};
    code = model_read(&part->point, &options, &part->mesh.axes, &part->model, st);
    if (code == 0)
        code = model_step_base(s->point, &part->model, &part->module, st);
    if (code == 0)
        code = placement_init(&part->placement, &s->machine->slice, part->mesh.devices, 1, &part->mesh, NULL,
                              st);
    if (code == 0)
        code = module_options(s->point, s->machine->chip, &part->options, st);
    part->options.unroll = true;
    return code < 0 ? code : lower_init(&part->lower, &part->module, &part->placement, &part->options, st);
}

static int read_part(struct parts *s, int which, const struct node *list, struct status *st)
{
    static const char *const names[] = {"step", "time", "mesh", "on", NULL};
    struct part *part = &s->part[which];
    const struct node *node, *step = NULL, *found;
    const char *path, *mesh = NULL, *on = NULL;
    const struct front_key key[] = {{"step", FRONT_TEXT, .to = &path},
                                    {"time", FRONT_TIME, .to = &part->given_s},
                                    {"mesh", FRONT_TEXT, .to = &mesh},
                                    {"on", FRONT_TEXT, .to = &on}};
    snprintf(part->name, sizeof part->name, "%s", list->name[which]);
    int code = front_mapping(list, list->name[which], names, &node, st);
    if (code == 0)
        code = FRONT_READ(node, key, st);
    if (code == 0)
        code = node_need(node, "mesh", &found, st);
    if (code == 0)
        code = node_need(node, "on", &found, st);
    if (code == 0)
        code = node_prefix(node, st, lay(s, which, mesh, on, st));
    for (int other = 0; other < which && code == 0; other++)
        for (int d = 0; d < part->mesh.devices && code == 0; d++)
            if (mesh_device(&s->part[other].mesh, mesh_chip(&part->mesh, d)) >= 0)
                code = node_fail(list, st, STATUS_INPUT,
                                 "chip %d is in %s and in %s; give each chips of its own",
                                 mesh_chip(&part->mesh, d), s->part[other].name, part->name);
    if (code < 0 || !isnan(part->given_s))
        return code;
    return node_need(node, "step", &step, st) < 0 ? st->code : read_step(s, part, step, st);
}

static int read_parts(struct parts *s, const struct node *root, struct status *st)
{
    const struct node *list = NULL;
    int code = node_need(root, "parts", &list, st);
    if (code == 0)
        code = node_is_mapping(list, "parts", st);
    if (code < 0)
        return code;
    s->part = calloc((size_t)list->count + 1, sizeof *s->part);
    s->order = calloc((size_t)list->count + 1, sizeof *s->order);
    if (!s->part || !s->order)
        return status_nomem(st);
    for (s->parts = 0; s->parts < list->count;)
        s->part[s->parts++].given_s = NAN;
    if (s->parts == 0)
        return node_fail(list, st, STATUS_INPUT, "there are no parts; give one or more");
    for (int p = 0; p < s->parts && code == 0; p++)
        code = read_part(s, p, list, st);
    return code;
}

/* A transfer between two parts: an existing one, to which bytes are added, or a new one. */
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

/* "teacher.y": the part, and the name of a tensor, or "" if there is none. */
static int read_end(const struct parts *s, const struct node *node, const char *text, int *part,
                    const char **tensor, struct status *st)
{
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

/* Finds the two tensors; `from` may be an input or the output of the forward pass. */
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

/* The elements of dim `d` that a device holds: [low, high). */
static void find_block(const struct tensor *t, const struct axes *axes, int d, int device, int64_t range[2])
{
    int64_t each = t->dim[d].n / axis_list_size(&t->dim[d].shard, axes);
    range[0] = each * axis_list_position(&t->dim[d].shard, axes, device);
    range[1] = range[0] + each;
}

/* The number of a device among the replicas of its block. */
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

/* Adds the bytes that each device of one mesh holds of the block that each device of the other needs. If there are
 * replicas, device j takes them from replica j mod their number. */
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
    const struct node *found;
    const char *from = NULL, *to = NULL;
    double given_s = NAN;
    const struct front_key key[] = {{"time", FRONT_TIME, .to = &given_s},
                                    {"from", FRONT_TEXT, .to = &from},
                                    {"to", FRONT_TEXT, .to = &to}};
    if (node_is_mapping(node, "a transfer", st) < 0 || node_only(node, names, st) < 0 ||
        FRONT_READ(node, key, st) < 0 || node_need(node, "from", &found, st) < 0 ||
        node_need(node, "to", &found, st) < 0 || read_end(s, node, from, &h->from_part, &from, st) < 0 ||
        read_end(s, node, to, &h->to_part, &to, st) < 0)
        return st->code;
    if (isnan(given_s) && read_handover(s, h, from, to, node, st) < 0)
        return st->code;
    if (!isnan(given_s) && (*from || *to))
        return node_fail(node, st, STATUS_INPUT,
                         "a transfer with a time is from a part to a part; leave the names of tensors out");
    const struct transfer *transfer = add_transfer(s, h->from_part, h->to_part, given_s, st);
    if (transfer && isnan(given_s)) {
        add_bytes(s, h, transfer->bytes);
        s->handovers++;
    }
    return st->code;
}

/* {time: 20us}: a transfer from each part to the next. */
static int read_chain(struct parts *s, const struct node *list, struct status *st)
{
    double given_s = NAN;
    const struct front_key key[] = {{"time", FRONT_TIME, .to = &given_s}};
    int code = FRONT_READ(list, key, st);
    if (code == 0 && isnan(given_s))
        code = node_fail(list, st, STATUS_INPUT, "transfers are a list, or a time, {time: 20us}");
    for (int p = 0; p + 1 < s->parts && code == 0; p++)
        code = add_transfer(s, p, p + 1, given_s, st) ? 0 : st->code;
    return code;
}

static int read_transfers(struct parts *s, const struct node *root, struct status *st)
{
    const struct node *list = node_get(root, "transfers");
    if (!list && s->parts == 1)
        return 0;
    if (node_need(root, "transfers", &list, st) < 0)
        return st->code;
    bool chain = list->kind == NODE_MAPPING;
    size_t room = (size_t)(chain ? s->parts : list->count) + 1;
    s->transfer = calloc(room, sizeof *s->transfer);
    s->handover = calloc(room, sizeof *s->handover);
    int code = s->transfer && s->handover ? 0 : status_nomem(st);
    if (code == 0 && chain)
        return read_chain(s, list, st);
    if (code == 0)
        code = node_is_sequence(list, "transfers", st);
    for (int i = 0; code == 0 && i < list->count; i++)
        code = read_transfer(s, list->child[i], st);
    return code;
}

static int read_file(struct parts *s, const struct node *root, struct status *st)
{
    const struct front_key key[] = {
        {"batches", FRONT_COUNT, .to = &s->batches, .most = 1000000},
        {"learning-rate", FRONT_REAL, .to = &s->learning_rate, .least = -INFINITY, .most = INFINITY}};
    const char *names[OPTIONS_MAX + 6];
    int n = option_keys(names);
    const char *const own[] = {"about", "parts", "transfers", "batches", "learning-rate", NULL};
    memcpy(names + n, own, sizeof own);
    int code = node_only(root, names, st);
    if (code == 0)
        code = read_parts(s, root, st);
    if (code == 0)
        code = read_transfers(s, root, st);
    if (code == 0 && parts_order(s, st) < 0)
        code = node_prefix(node_get(root, "transfers"), st, st->code);
    s->batches = 1;
    return code < 0 ? code : FRONT_READ(root, key, st);
}

int parts_open(struct parts *s, const struct point *point, const struct machine *machine, struct status *st)
{
    struct document document = {0};
    *s = (struct parts){.point = point, .machine = machine};
    int code = document_load(&document, point->work.file, st);
    if (code == 0)
        code = read_file(s, document.root, st);
    if (code == 0 && point->schedule.host_transfer && !(machine->chip->pcie_Bps > 0))
        code = status_fail(st, STATUS_INPUT,
                           "--host-transfer: the chip's file has no pcie_bandwidth; give it one");
    document_free(&document);
    return code;
}

void parts_close(struct parts *s)
{
    for (int i = 0; i < s->parts; i++) {
        struct part *part = &s->part[i];
        if (part->lower.module)
            lower_free(&part->lower);
        placement_free(&part->placement);
        module_free(&part->module);
        model_free(&part->model);
        mesh_free(&part->mesh);
    }
    for (int t = 0; t < s->transfers; t++)
        free(s->transfer[t].bytes);
    free(s->part);
    free(s->order);
    free(s->transfer);
    free(s->handover);
    *s = (struct parts){0};
}
