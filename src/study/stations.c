/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A workload of two meshes: what its file says. */
#include "study/stations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "compile/pass.h"
#include "settings/option.h"
#include "study/module_job.h"

bool stations_match(const struct point *point)
{
    return point->work.file && model_file_has(point->work.file, "meshes", NULL);
}

/* A scalar of a mapping that has to be there. */
static int need_text(const struct node *node, const char *name, const char **text, struct status *st)
{
    const struct node *value = NULL;
    int code = node_need(node, name, &value, st);
    return code < 0 ? code : node_text(value, name, text, st);
}

static int read_time(const struct node *node, double *time_s, struct status *st)
{
    const struct node *value = node_get(node, "time");
    const char *text;
    *time_s = NAN;
    int code = value ? node_text(value, "time", &text, st) : 0;
    if (value && code == 0 && (code = units_parse_time("time", text, time_s, st)) < 0)
        node_prefix(value, st, code);
    return code;
}

/* "tp=4" for another number of chips: of one axis, its size. */
static int resize_mesh(const char *mesh, int chips, char text[static AXES_TEXT], struct status *st)
{
    struct axes axes = {0};
    if (axes_parse(mesh, &axes, st) < 0)
        return st->code;
    if (axes.count != 1)
        return status_fail(st, STATUS_INPUT,
                           "--split changes how many chips a mesh has; '%s' must be of one axis for that",
                           mesh);
    axes.axis[0].n = chips;
    axes_print(&axes, text);
    return 0;
}

/* "2/6": the first chips of the slice, and those after them. */
static int read_split(const struct stations *s, int which, int32_t chip[], int *chips, struct status *st)
{
    int first = 0, second = 0, end = 0, all = s->machine.slice.chips;
    const char *text = s->point->machine.split;
    if (sscanf(text, "%d/%d%n", &first, &second, &end) != 2 || text[end] || first < 1 || second < 1 ||
        first + second > all)
        return status_fail(st, STATUS_INPUT,
                           "--split '%s': write chips of the first mesh / of the second, such as "
                           "4/4, %d together at most",
                           text, all);
    *chips = which ? second : first;
    for (int c = 0; c < *chips; c++)
        chip[c] = (which ? first : 0) + c;
    return 0;
}

static int lay(struct stations *s, int which, const struct node *node, struct status *st)
{
    struct station *part = &s->part[which];
    const char *mesh, *on;
    char resized[AXES_TEXT];
    int chips = 0;
    int32_t *chip = malloc((size_t)s->machine.slice.chips * sizeof *chip);
    int code = chip ? need_text(node, "mesh", &mesh, st) : status_nomem(st);
    if (code == 0 && s->point->machine.split) {
        code = read_split(s, which, chip, &chips, st);
        if (code == 0)
            code = resize_mesh(mesh, chips, resized, st);
        mesh = resized;
    } else if (code == 0) {
        code = need_text(node, "on", &on, st);
        chips = code == 0 ? machine_read_chips(on, chip, s->machine.slice.chips, st) : 0;
        code = chips < 0 ? chips : code;
    }
    if (code == 0)
        code = mesh_init_on(&part->mesh, &s->machine.slice, mesh, chip, chips, st);
    free(chip);
    return code < 0 ? node_prefix(node, st, code) : 0;
}

/* The step itself; its file's own mesh, chip and the like do not count here. */
static int read_step(struct stations *s, struct station *part, const struct node *node, struct status *st)
{
    const char *text, *slash = strrchr(s->point->work.file, '/');
    int code = need_text(node, "step", &text, st);
    if (code < 0)
        return code;
    int folder = slash && text[0] != '/' ? (int)(slash - s->point->work.file) + 1 : 0;
    int n = snprintf(part->path, sizeof part->path, "%.*s%s", folder, s->point->work.file, text);
    if (n >= STATION_PATH)
        return node_fail(node, st, STATUS_INPUT, "the path is longer than %d letters", STATION_PATH - 1);
    part->point = *s->point;
    part->point.work.op = part->point.work.file = part->path;
    code = model_read(&part->point, NULL, &part->mesh.axes, &part->model, st);
    if (code == 0)
        code = model_step_base(s->point, &part->model.module, &part->module, st);
    if (code == 0)
        code =
            placement_init(&part->placement, &s->machine.slice, part->mesh.devices, 1, &part->mesh, NULL, st);
    if (code == 0)
        code = module_job_options(s->point, s->machine.chip, &part->options, st);
    part->options.unroll = true;
    return code < 0 ? code : lower_init(&part->lower, &part->module, &part->placement, &part->options, st);
}

static int read_part(struct stations *s, int which, const struct node *meshes, struct status *st)
{
    static const char *const names[] = {"step", "time", "mesh", "on", NULL};
    struct station *part = &s->part[which];
    const struct node *node = node_child(meshes, which);
    snprintf(part->name, sizeof part->name, "%s", node_name(meshes, which));
    int code = node_is_mapping(node, part->name, st);
    if (code == 0)
        code = node_only(node, names, st);
    if (code == 0)
        code = read_time(node, &part->given_s, st);
    if (code == 0)
        code = lay(s, which, node, st);
    return code < 0 || !isnan(part->given_s) ? code : read_step(s, part, node, st);
}

static int check_apart(const struct stations *s, struct status *st)
{
    for (int d = 0; d < s->part[0].mesh.devices; d++)
        if (mesh_device(&s->part[1].mesh, mesh_chip(&s->part[0].mesh, d)) >= 0)
            return status_fail(st, STATUS_INPUT, "chip %d is in %s and in %s; give each chips of its own",
                               mesh_chip(&s->part[0].mesh, d), s->part[0].name, s->part[1].name);
    return 0;
}

static int find_tensor(const struct model_tensor list[], int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return i;
    return -1;
}

/* "teacher.y": a tensor of a part. */
static int read_tensor(const struct stations *s, int which, const struct node *node, const char *key, int *at,
                       bool *output, struct status *st)
{
    const struct station *part = &s->part[which];
    const struct model *model = &part->model;
    const char *text;
    int code = need_text(node, key, &text, st);
    if (code < 0)
        return code;
    size_t n = strlen(part->name);
    bool named = strncmp(text, part->name, n) == 0 && text[n] == '.';
    *at = named ? find_tensor(model->input, model->inputs, text + n + 1) : -1;
    *output = named && *at < 0 && which == 0 && model->outputs > 0 &&
              strcmp(model->output[0].name, text + n + 1) == 0;
    if (*output)
        *at = 0;
    return *at >= 0 ? 0
                    : node_fail(node, st, STATUS_INPUT, "there is no tensor '%s'; write %s.%s", text,
                                part->name, model->inputs ? model->input[0].name : "x");
}

static int read_transfer(struct stations *s, const struct node *node, struct status *st)
{
    static const char *const names[] = {"from", "to", NULL};
    struct station_transfer *t = &s->transfer[s->transfers];
    bool output;
    int code = node_is_mapping(node, "a transfer", st);
    if (code == 0)
        code = node_only(node, names, st);
    if (code == 0)
        code = read_tensor(s, 0, node, "from", &t->from, &t->from_output, st);
    if (code == 0)
        code = read_tensor(s, 1, node, "to", &t->to, &output, st);
    if (code < 0)
        return code;
    const struct model *model = &s->part[0].model;
    const struct tensor *from = &(t->from_output ? model->output : model->input)[t->from].tensor;
    const struct tensor *to = &s->part[1].model.input[t->to].tensor;
    bool same = from->dims == to->dims;
    for (int d = 0; same && d < to->dims; d++)
        same = from->dim[d].n == to->dim[d].n;
    if (!same) {
        char text[2][TENSOR_TEXT];
        return node_fail(node, st, STATUS_INPUT, "%s cannot become %s; they must have the same sizes",
                         tensor_print(from, &model->axes, text[0]),
                         tensor_print(to, &s->part[1].model.axes, text[1]));
    }
    s->transfers++;
    return 0;
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

/* What each device of the first mesh has of the block that a device of the second needs. Of several that have the same, device j takes it
 * from replica j mod their number. */
static void add_bytes(struct stations *s, const struct station_transfer *t)
{
    const struct model *a = &s->part[0].model, *b = &s->part[1].model;
    const struct model_tensor *from = &(t->from_output ? a->output : a->input)[t->from],
                              *to = &b->input[t->to];
    int n = s->part[0].mesh.devices, m = s->part[1].mesh.devices;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            int replicas, replica = replica_of(&from->tensor, &a->axes, i, &replicas);
            double elements = replica == j % replicas;
            for (int d = 0; d < to->tensor.dims; d++) {
                int64_t has[2], needs[2];
                find_block(&from->tensor, &a->axes, d, i, has);
                find_block(&to->tensor, &b->axes, d, j, needs);
                int64_t low = has[0] > needs[0] ? has[0] : needs[0],
                        high = has[1] < needs[1] ? has[1] : needs[1];
                elements *= high > low ? (double)(high - low) : 0;
            }
            s->bytes[i * m + j] += elements * dtype_info(from->dtype)->bytes;
        }
}

static int read_transfers(struct stations *s, const struct node *root, struct status *st)
{
    const struct node *list = NULL;
    bool steps = isnan(s->part[0].given_s) && isnan(s->part[1].given_s);
    s->given_transfer_s = NAN;
    s->bytes =
        calloc((size_t)s->part[0].mesh.devices * (size_t)s->part[1].mesh.devices + 1, sizeof *s->bytes);
    int code = s->bytes ? node_need(root, "transfers", &list, st) : status_nomem(st);
    if (code < 0)
        return code;
    if (node_kind(list) == NODE_MAPPING) {
        code = read_time(list, &s->given_transfer_s, st);
        return code == 0 && isnan(s->given_transfer_s)
                   ? node_fail(list, st, STATUS_INPUT, "transfers are a list, or a time, {time: 20us}")
                   : code;
    }
    code = node_is_sequence(list, "transfers", st);
    if (code == 0 && !steps)
        code = node_fail(list, st, STATUS_INPUT,
                         "a mesh with a time has no tensors; write transfers: {time: 20us}");
    if (code == 0 && node_count(list) > STATION_TRANSFERS)
        code = node_fail(list, st, STATUS_LIMIT, "more than %d transfers", STATION_TRANSFERS);
    for (int i = 0; code == 0 && i < node_count(list); i++) {
        code = read_transfer(s, node_child(list, i), st);
        if (code == 0)
            add_bytes(s, &s->transfer[i]);
    }
    return code;
}

static int read_file(struct stations *s, const struct node *root, struct status *st)
{
    const struct node *meshes = NULL, *batches = node_get(root, "batches"),
                      *rate = node_get(root, "learning-rate");
    const char *names[OPTIONS_MAX + 6];
    int n = 0;
    for (int i = 0; i < option_count; i++)
        if (option_table[i].of_point)
            names[n++] = option_table[i].name;
    const char *const own[] = {"about", "meshes", "transfers", "batches", "learning-rate", NULL};
    memcpy(names + n, own, sizeof own);
    int code = node_only(root, names, st);
    if (code == 0)
        code = node_need(root, "meshes", &meshes, st);
    if (code == 0)
        code = node_is_mapping(meshes, "meshes", st);
    if (code == 0 && node_count(meshes) != 2)
        code = node_fail(meshes, st, STATUS_INPUT,
                         "there are %d meshes; give two, the first one's batches go to the second",
                         node_count(meshes));
    for (int i = 0; i < 2 && code == 0; i++)
        code = read_part(s, i, meshes, st);
    if (code == 0 && (code = check_apart(s, st)) < 0)
        node_prefix(meshes, st, code);
    if (code == 0)
        code = read_transfers(s, root, st);
    s->batches = 1;
    if (code == 0 && batches)
        code = node_integer(batches, "batches", &s->batches, st);
    if (code == 0 && (s->batches < 1 || s->batches > 1000000))
        code = node_fail(batches, st, STATUS_INPUT, "batches is %lld; it must be from 1 to 1000000",
                         (long long)s->batches);
    if (code == 0 && rate)
        code = node_real(rate, "learning-rate", &s->learning_rate, st);
    return code;
}

int stations_open(struct stations *s, const struct point *point, struct status *st)
{
    struct document document = {0};
    *s = (struct stations){.point = point};
    int code = option_check(point, ON_STATIONS, "two meshes", st);
    if (code == 0)
        code = machine_open(&s->machine, point, &s->catalog, st);
    if (code == 0)
        code = document_load(&document, point->work.file, st);
    if (code == 0)
        code = read_file(s, document.root, st);
    if (code == 0 && (point->schedule.in_flight < 1 || point->schedule.in_flight > 64))
        code = status_fail(st, STATUS_INPUT, "--in-flight %d: write 1 to 64", point->schedule.in_flight);
    document_free(&document);
    return code;
}

void stations_close(struct stations *s)
{
    for (int i = 0; i < 2; i++) {
        struct station *part = &s->part[i];
        if (part->lower.module)
            lower_free(&part->lower);
        placement_free(&part->placement);
        module_free(&part->module);
        model_free(&part->model);
        mesh_free(&part->mesh);
    }
    free(s->bytes);
    machine_close(&s->machine);
    catalog_free(&s->catalog);
    *s = (struct stations){0};
}
