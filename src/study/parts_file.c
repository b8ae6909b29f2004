/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A workload of parts: what its file says. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings/option.h"
#include "study/model_step.h"
#include "study/module_options.h"
#include "study/parts_file.h"

bool parts_match(const struct point *point)
{
    return point->work.file && model_file_has(point->work.file, "parts", NULL);
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

/* "2/6": so many chips for each part, one part after the other from the slice's first chip on. Those of part `which`. */
static int read_split(const struct parts *s, int which, int32_t chip[], int *chips, struct status *st)
{
    const char *text = s->point->machine.split, *at = text;
    int all = s->machine->slice.chips, used = 0, parts = 0;
    long n = 1;
    for (bool more = true; more && n >= 1 && used <= all; parts++) {
        char *end = (char *)at;
        n = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : 0;
        n = n <= all ? n : 0;
        for (int c = 0; parts == which && c < n && used + n <= all; c++)
            chip[c] = used + c;
        *chips = parts == which ? (int)n : *chips;
        used += (int)n;
        more = *end == '/';
        at = end + more;
    }
    if (*at || n < 1 || used > all || parts != s->parts)
        return status_fail(st, STATUS_INPUT,
                           "--split '%s': write the chips of each of the %d parts, such as 4/4, %d together "
                           "at most",
                           text, s->parts, all);
    return 0;
}

static int lay(struct parts *s, int which, const struct node *node, struct status *st)
{
    const struct slice *slice = &s->machine->slice;
    const char *mesh, *on;
    char resized[AXES_TEXT];
    int chips = 0;
    int32_t *chip = malloc((size_t)slice->chips * sizeof *chip);
    int code = chip ? parts_need_text(node, "mesh", &mesh, st) : status_nomem(st);
    if (code == 0 && s->point->machine.split) {
        code = read_split(s, which, chip, &chips, st);
        if (code == 0)
            code = resize_mesh(mesh, chips, resized, st);
        mesh = resized;
    } else if (code == 0) {
        code = parts_need_text(node, "on", &on, st);
        chips = code == 0 ? machine_read_chips(on, chip, slice->chips, st) : 0;
        code = chips < 0 ? chips : code;
    }
    if (code == 0)
        code = mesh_init_on(&s->part[which].mesh, slice, mesh, chip, chips, st);
    free(chip);
    return code < 0 ? node_prefix(node, st, code) : 0;
}

/* The step itself; its file's own mesh, chip and the like do not count here. */
static int read_step(struct parts *s, struct part *part, const struct node *node, struct status *st)
{
    const char *text, *slash = strrchr(s->point->work.file, '/');
    int code = parts_need_text(node, "step", &text, st);
    if (code < 0)
        return code;
    int folder = slash && text[0] != '/' ? (int)(slash - s->point->work.file) + 1 : 0;
    int n = snprintf(part->path, sizeof part->path, "%.*s%s", folder, s->point->work.file, text);
    if (n >= PART_PATH)
        return node_fail(node, st, STATUS_INPUT, "the path is longer than %d letters", PART_PATH - 1);
    part->point = *s->point;
    part->point.work.op = part->point.work.file = part->path;
    code = model_read(&part->point, NULL, &part->mesh.axes, &part->model, st);
    if (code == 0)
        code = model_step_base(s->point, &part->model.module, &part->module, st);
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
    const struct node *node = node_child(list, which);
    snprintf(part->name, sizeof part->name, "%s", node_name(list, which));
    int code = node_is_mapping(node, part->name, st);
    if (code == 0)
        code = node_only(node, names, st);
    if (code == 0)
        code = parts_read_time(node, &part->given_s, st);
    if (code == 0)
        code = lay(s, which, node, st);
    for (int other = 0; other < which && code == 0; other++)
        for (int d = 0; d < part->mesh.devices && code == 0; d++)
            if (mesh_device(&s->part[other].mesh, mesh_chip(&part->mesh, d)) >= 0)
                code = node_fail(list, st, STATUS_INPUT,
                                 "chip %d is in %s and in %s; give each chips of its own",
                                 mesh_chip(&part->mesh, d), s->part[other].name, part->name);
    return code < 0 || !isnan(part->given_s) ? code : read_step(s, part, node, st);
}

static int read_parts(struct parts *s, const struct node *root, struct status *st)
{
    const struct node *list = NULL;
    int code = node_need(root, "parts", &list, st);
    if (code == 0)
        code = node_is_mapping(list, "parts", st);
    if (code < 0)
        return code;
    s->part = calloc((size_t)node_count(list) + 1, sizeof *s->part);
    s->order = calloc((size_t)node_count(list) + 1, sizeof *s->order);
    if (!s->part || !s->order)
        return status_nomem(st);
    for (s->parts = 0; s->parts < node_count(list);)
        s->part[s->parts++].given_s = NAN;
    if (s->parts == 0)
        return node_fail(list, st, STATUS_INPUT, "there are no parts; give one or more");
    for (int p = 0; p < s->parts && code == 0; p++)
        code = read_part(s, p, list, st);
    return code;
}

/* A part comes after all that hand something to it, on the longest way. */
static int find_order(struct parts *s, struct status *st)
{
    int done = 0;
    for (int round = 0; round < s->parts; round++)
        for (int t = 0; t < s->transfers; t++) {
            struct part *from = &s->part[s->transfer[t].from], *to = &s->part[s->transfer[t].to];
            to->level = to->level > from->level ? to->level : from->level + 1;
        }
    for (int level = 0; level < s->parts; level++)
        for (int p = 0; p < s->parts; p++)
            if (s->part[p].level == level)
                s->order[done++] = p;
    return done == s->parts
               ? 0
               : status_fail(st, STATUS_INPUT, "transfers go round in a circle; a batch has to leave");
}

static int read_file(struct parts *s, const struct node *root, struct status *st)
{
    const struct node *batches = node_get(root, "batches"), *rate = node_get(root, "learning-rate");
    const char *names[OPTIONS_MAX + 6];
    int n = 0;
    for (int i = 0; i < option_count; i++)
        if (option_table[i].of_point)
            names[n++] = option_table[i].name;
    const char *const own[] = {"about", "parts", "transfers", "batches", "learning-rate", NULL};
    memcpy(names + n, own, sizeof own);
    int code = node_only(root, names, st);
    if (code == 0)
        code = read_parts(s, root, st);
    if (code == 0)
        code = parts_read_transfers(s, root, st);
    if (code == 0 && find_order(s, st) < 0)
        code = node_prefix(node_get(root, "transfers"), st, st->code);
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

int parts_open(struct parts *s, const struct point *point, const struct machine *machine, struct status *st)
{
    struct document document = {0};
    *s = (struct parts){.point = point, .machine = machine};
    int code = document_load(&document, point->work.file, st);
    if (code == 0)
        code = read_file(s, document.root, st);
    if (code == 0 && (point->schedule.in_flight < 1 || point->schedule.in_flight > 64))
        code = status_fail(st, STATUS_INPUT, "--in-flight %d: write 1 to 64", point->schedule.in_flight);
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
