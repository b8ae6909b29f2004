/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/machine.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "compile/pass.h"
#include "machine/boxes.h"
#include "machine/defects.h"
#include "settings/option.h"
#include "study/job.h"

int listing_read(const struct point *point, struct module *module, char path[HLO_PATH], int *disguised,
                 struct memory_analysis *memory, struct status *st)
{
    struct module written = {0};
    *disguised = 0;
    if (option_check(point, ON_TEXT, "HLO text", st) < 0)
        return st->code;
    int code = hlo_load(&written, point->work.op, point->work.trip_count, path, st);
    if (code == 0 && memory && written.scheduled)
        code = memory_analyse(&written, memory, st);
    if (code == 0 && !point->work.as_written)
        code = pass_reduce_scatters(&written, module, disguised, st);
    if (code == 0 && *disguised == 0)
        *module = written;
    else
        module_free(&written);
    return code;
}

/* Adds to the line HloModule: frontend_attributes={mesh="dp=4,tp=2",device_order="ring"}. */
int listing_write_mesh(struct module *module, const struct point *point, struct status *st)
{
    const char *said = module_word(module, module->header);
    char *header = NULL;
    if (!point->machine.mesh || point->machine.on || strstr(said, "frontend_attributes"))
        return 0;
    if (asprintf(&header, "%s%sfrontend_attributes={mesh=\"%s\",device_order=\"%s\"}", said,
                 *said ? ", " : "", point->machine.mesh, device_order_names[point->machine.device_order]) < 0)
        return status_nomem(st);
    module->header = module_name(module, header, (int)strlen(header));
    free(header);
    return module->header > 0 ? 0 : status_nomem(st);
}

/* Sets `mesh`, and the point's, from the mesh in HLO text. Returns whether the text has one. */
static bool read_mesh(const struct listing *text, struct point *point, char mesh[static MESH_TEXT])
{
    static const char key[] = "frontend_attributes={mesh=\"", order[] = "\",device_order=\"ring\"";
    const char *at = strstr(module_word(&text->module, text->module.header), key);
    size_t n = at ? strcspn(at += strlen(key), "\"") : MESH_TEXT;
    if (n >= MESH_TEXT)
        return false;
    snprintf(mesh, MESH_TEXT, "%.*s", (int)n, at);
    point->machine.mesh = mesh;
    point->machine.split_axes = true;
    point->machine.device_order =
        strncmp(at + n, order, strlen(order)) == 0 ? DEVICE_ORDER_RING : DEVICE_ORDER_JAX;
    return true;
}

static void listing_free(struct listing *text)
{
    module_free(&text->module);
    free(text->key);
    free(text);
}

/* Everything that a listing depends on, as one text: whether it is as written, its trip counts, its path. The
 * caller's to free(). */
static char *key_of(const struct point *point)
{
    const struct point_work *work = &point->work;
    char *key;
    return asprintf(&key, "%d %s %s", work->as_written, work->trip_count ? work->trip_count : "", work->op) <
                   0
               ? NULL
               : key;
}

const struct listing *listing_of(struct catalog *catalog, const struct point *point, struct status *st)
{
    if (option_check(point, ON_TEXT, "HLO text", st) < 0)
        return NULL;
    struct listing *text = calloc(1, sizeof *text);
    if (!text || !(text->key = key_of(point))) {
        free(text);
        status_nomem(st);
        return NULL;
    }
    for (const struct listing *known = catalog->text; known; known = known->next)
        if (strcmp(known->key, text->key) == 0) {
            listing_free(text);
            return known;
        }
    if (listing_read(point, &text->module, text->path, &text->disguised, &text->memory, st) < 0) {
        listing_free(text);
        return NULL;
    }
    text->next = catalog->text;
    catalog->text = text;
    return text;
}

struct catalog_entry {
    struct catalog_entry *next;
    char *name;
    struct chip chip;
};

const struct chip *catalog_chip(struct catalog *catalog, const char *name, enum chip_profile profile,
                                struct status *st)
{
    for (struct catalog_entry *e = catalog->first; e; e = e->next)
        if (e->chip.profile == profile && strcmp(e->name, name) == 0)
            return &e->chip;
    struct catalog_entry *entry = calloc(1, sizeof *entry);
    if (!entry || !(entry->name = strdup(name))) {
        free(entry);
        status_nomem(st);
        return NULL;
    }
    if (chip_load(&entry->chip, name, profile, st) < 0) {
        free(entry->name);
        free(entry);
        return NULL;
    }
    if (catalog->step_efficiency > 0)
        entry->chip.step_efficiency = catalog->step_efficiency;
    entry->next = catalog->first;
    catalog->first = entry;
    return &entry->chip;
}

const struct chip *catalog_chip_of(struct catalog *catalog, const struct point *point, struct status *st)
{
    int profile = point->machine.profile == CHOICE_OPEN ? CHIP_SPEC : point->machine.profile;
    const struct chip *chip = catalog_chip(catalog, point->machine.chip, (enum chip_profile)profile, st);
    bool is_step = point->work.op && (workload_kind(point->work.op) & (ON_TEXT | ON_MODEL));
    return chip && point->machine.profile == CHOICE_OPEN && is_step && chip->has_measured
               ? catalog_chip(catalog, point->machine.chip, CHIP_MEASURED, st)
               : chip;
}

void catalog_free(struct catalog *catalog)
{
    drawn_free(catalog->drawn);
    catalog->drawn = NULL;
    while (catalog->text) {
        struct listing *text = catalog->text;
        catalog->text = text->next;
        listing_free(text);
    }
    while (catalog->first) {
        struct catalog_entry *entry = catalog->first;
        catalog->first = entry->next;
        chip_free(&entry->chip);
        free(entry->name);
        free(entry);
    }
}

static int read_sizes(const char *mesh, struct axes *axes, struct status *st)
{
    if (!strpbrk(mesh, "*:")) /* "X=x*y" refers to axes of a missing slice */
        return axes_parse(mesh, axes, st);
    return status_fail(st, STATUS_INPUT, "mesh '%s' does not say the slice's shape; add --slice, such as 4x4",
                       mesh);
}

/* The maximum number: HLO text may be compiled for one or several devices per chip, depending on its device
 * count. */
static int most_cores_of(const struct chip *chip, const struct point *point)
{
    unsigned kind = point->work.op ? workload_kind(point->work.op) : 0;
    return kind == ON_TEXT ? chip->tensorcores : kind == ON_PARTS ? 1 : chip->cores;
}

/* The slice that the cloud offers for the number of devices of a mesh. */
static int shape_for_mesh(const struct chip *chip, const struct point *point, char shape[static SLICE_TEXT],
                          struct status *st)
{
    struct axes axes = {0};
    struct box box;
    /* If the mesh does not say, devices are cores for modules, and if nothing runs, else chips. */
    bool by_core = !point->work.op || workload_kind(point->work.op) & (ON_TEXT | ON_MODEL);
    int code = read_sizes(point->machine.mesh, &axes, st), cores = by_core ? chip->cores : 1;
    int devices = axes_devices(&axes);
    if (code >= 0)
        code = boxes_offered(chip, devices % cores ? devices : devices / cores, &box, st);
    if (code < 0)
        return code;
    box_print(&box, chip, shape);
    return 0;
}

int machine_read_chips(const char *text, int32_t chip[], int most, struct status *st)
{
    int chips = 0;
    for (const char *at = text;; at++) {
        char *end = NULL;
        long first = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : -1, last = first;
        if (end && *end == '-')
            last = isdigit((unsigned char)end[1]) ? strtol(end + 1, &end, 10) : -1;
        if (first < 0 || last < 0 || first > INT_MAX - 1 || last > INT_MAX - 1 || (*end && *end != ','))
            return status_fail(st, STATUS_INPUT, "--on '%s': write chips and ranges of them, such as 0-3,7,6",
                               text);
        for (long c = first; first <= last ? c <= last : c >= last; c += first <= last ? 1 : -1) {
            if (chips == most)
                return status_fail(st, STATUS_INPUT, "--on '%s': more chips than the slice has, %d", text,
                                   most);
            chip[chips++] = (int32_t)c;
        }
        at = end;
        if (*at == '\0')
            return chips;
    }
}

/* The mesh axis that has the devices of a chip innermost, "tp=z*cores", -1: none; `chips` gets the mesh
 * without them. */
static int said_cores(const char *mesh, char chips[static MESH_TEXT])
{
    static const char word[] = "cores";
    size_t used = 0;
    int axis = 0, found = -1;
    for (const char *at = mesh; *at && used + 2 < MESH_TEXT; at++) {
        size_t n = strlen(word);
        bool said = found < 0 && (*at == '*' || *at == '=') && strncmp(at + 1, word, n) == 0 &&
                    strchr(",", at[1 + n]);
        axis += *at == ',';
        if (!said || *at == '=')
            chips[used++] = *at;
        if (!said)
            continue;
        if (*at == '=')
            chips[used++] = '1';
        found = axis;
        at += n;
    }
    chips[used] = '\0';
    return found;
}

/* Lays out a mesh with an axis that has the devices of a chip innermost. */
static int lay_cores(struct machine *machine, const struct point *point, int axis, const char *chips,
                     struct status *st)
{
    int cores = most_cores_of(machine->chip, point);
    if (cores < 2)
        return status_fail(st, STATUS_INPUT, "mesh '%s': %s; leave cores out", point->machine.mesh,
                           machine->chip->cores < 2 ? "a chip is one device" : "parts run on chips");
    int code = mesh_init(&machine->mesh, &machine->slice, chips, NULL, st);
    return code == 0 ? mesh_add_cores(&machine->mesh, axis, cores, st) : code;
}

/* Lays out a mesh by its sizes, or as it says. */
static int lay_text(struct machine *machine, const struct point *point, struct status *st)
{
    struct mesh_rule rule = {.order = (enum device_order)point->machine.device_order,
                             .split = point->machine.split_axes ||
                                      strcmp(machine->chip->jax_mesh, "split axes") == 0,
                             .cores = most_cores_of(machine->chip, point)};
    char chips[MESH_TEXT];
    int axis = point->machine.mesh ? said_cores(point->machine.mesh, chips) : -1;
    return axis >= 0 ? lay_cores(machine, point, axis, chips, st)
                     : mesh_init(&machine->mesh, &machine->slice, point->machine.mesh, &rule, st);
}

/* Lays out the mesh in HLO text, if it has one that fits the slice; otherwise the device assignment is
 * assumed. */
static int lay_as_written(struct machine *machine, const struct point *point, struct catalog *catalog,
                          struct status *st)
{
    const struct listing *text = listing_of(catalog, point, st);
    struct point said = *point;
    struct status why = {0};
    char mesh[MESH_TEXT];
    if (!text)
        return st->code;
    machine->of_text = read_mesh(text, &said, mesh) && lay_text(machine, &said, &why) == 0;
    if (machine->of_text)
        return 0;
    mesh_free(&machine->mesh);
    return why.code == STATUS_NOMEM ? status_nomem(st) : lay_text(machine, point, st);
}

static int lay_mesh(struct machine *machine, const struct point *point, struct catalog *catalog,
                    struct status *st)
{
    const struct slice *slice = &machine->slice;
    bool is_text = point->work.op && workload_kind(point->work.op) == ON_TEXT;
    if (is_text && !point->machine.mesh && !point->machine.devices && !point->machine.on)
        return lay_as_written(machine, point, catalog, st);
    if (!point->machine.on)
        return lay_text(machine, point, st);
    if (!point->machine.mesh)
        return status_fail(st, STATUS_INPUT, "--on lays a mesh over chips; add --mesh, such as --mesh d=4");
    int32_t *chip = malloc((size_t)slice->chips * sizeof *chip);
    if (!chip)
        return status_nomem(st);
    int code = machine_read_chips(point->machine.on, chip, slice->chips, st);
    if (code >= 0 && mesh_init_on(&machine->mesh, slice, point->machine.mesh, chip, code, st) < 0)
        code = status_prefix(st, "--on '%s': ", point->machine.on);
    free(chip);
    return code < 0 ? code : 0;
}

/* Slices as the cloud names them, "v5p-512", count TensorCores up to v5p and chips from v5e on: which shape is that? */
static int cloud_slice(const char *text, const struct point *point, struct catalog *catalog,
                       struct status *st)
{
    const char *dash = strchr(text, '-');
    char name[16], shape[SLICE_TEXT], *end;
    struct box box;
    struct point named = *point;
    if (strstr(text, "\xc3\x97")) /* the multiplication sign */
        return status_fail(st, STATUS_INPUT, "slice '%s': write x between the lengths, 4x4", text);
    long cores = dash ? strtol(dash + 1, &end, 10) : 0;
    if (cores <= 0 || cores > INT_MAX || *end || dash - text >= (ptrdiff_t)sizeof name)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)(dash - text), text);
    bool lite = strncmp(name, "v5lite", strlen("v5lite")) == 0;
    named.machine.chip = lite ? "v5e" : name;
    struct status unknown = {0};
    const struct chip *chip = catalog_chip_of(catalog, &named, &unknown);
    if (!chip)
        return 0; /* no shape either, which is reported elsewhere */
    int chips = (int)(lite || strcmp(name, "v5e") == 0 || strcmp(name, "v6e") == 0 ? cores : cores / 2);
    if (boxes_offered(chip, chips, &box, st) < 0)
        return status_prefix(st, "slice '%s': ", text);
    return status_fail(st, STATUS_INPUT, "slice '%s' is %d chips: --chip %s --slice %s", text, chips,
                       chip->name, box_print(&box, chip, shape));
}

int machine_open(struct machine *machine, const struct point *point, struct catalog *catalog,
                 struct status *st)
{
    *machine = (struct machine){.chip = catalog_chip_of(catalog, point, st)};
    if (!machine->chip)
        return st->code;
    if (!point->machine.slice && !point->machine.mesh)
        return status_fail(st, STATUS_INPUT,
                           "which slice? add --slice, such as 4x4, or --mesh, such as X=2,Y=4");
    char shape[SLICE_TEXT];
    if (point->machine.slice && cloud_slice(point->machine.slice, point, catalog, st) < 0)
        return st->code;
    int code = point->machine.slice ? 0 : shape_for_mesh(machine->chip, point, shape, st);
    if (code >= 0)
        code = chip_slice(machine->chip, point->machine.slice ? point->machine.slice : shape,
                          point->machine.wrap, &machine->slice, st);
    if (code >= 0 && point->machine.twist != CHOICE_OPEN)
        code = slice_twist(&machine->slice, point->machine.twist == TWIST_ON, st);
    if (code >= 0)
        code = slice_set_speed(&machine->slice, point->machine.link_Bps, point->machine.hop_latency_s, st);
    if (code >= 0)
        code = defects_read_links(&machine->slice, point->machine.link, st);
    if (code >= 0)
        code = defects_read_chips(&machine->slice, point->machine.slow_chip, st);
    if (code >= 0)
        code = lay_mesh(machine, point, catalog, st);
    machine->meshed = machine->of_text || point->machine.mesh;
    return code < 0 ? code : 0;
}

int machine_set_slow_links(struct machine *machine, enum slow_links way, const struct point *point,
                           struct catalog *catalog, struct status *st)
{
    struct slice *slice = &machine->slice;
    double slowest_Bps = slice_slowest_Bps(slice, -1);
    int code = 0;
    for (int link = 0; link < slice_link_ids(slice) && code == 0; link++)
        if (way == SLOW_LINKS_PACED && slice_is_link(slice, link))
            code = slice_set_link(slice, link, slowest_Bps, slice->link[link].latency_s, st);
        else if (way == SLOW_LINKS_AVOIDED && slice_is_link(slice, link) &&
                 slice_link_Bps(slice, link) < slice->link_Bps * (1 - 1e-9))
            code = slice_kill_link(slice, link, st);
    if (way == SLOW_LINKS_PACED)
        slice->link_Bps = slowest_Bps;
    machine->slow_links = way;
    mesh_free(&machine->mesh);
    return code < 0 ? code : lay_mesh(machine, point, catalog, st);
}

void machine_close(struct machine *machine)
{
    mesh_free(&machine->mesh);
    slice_free(&machine->slice);
}
