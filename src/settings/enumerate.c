/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replaces slices and meshes that were left open by all values that they stand for. */
#include <stdlib.h>
#include <string.h>

#include "hlo/hlo_read.h"
#include "machine/assignments.h"
#include "settings/settings.h"

static const struct setting *values_of(const struct settings *settings, const char *name)
{
    return &settings->of[option_index(option_by_name(name))];
}

static const char *value(const struct setting *setting, int v)
{
    return setting->count ? setting->text[v] : NULL;
}

/* For HLO text --mesh all means every device assignment of the program's own mesh, which follows from its
 * replica groups: puts that mesh in place of "all". */
static int take_mesh_of_text(struct settings *settings, struct status *st)
{
    const struct setting *mesh = values_of(settings, "mesh"), *op = values_of(settings, "op");
    struct module module = {0};
    struct axes axes = {0};
    char text[AXES_TEXT];
    if (mesh->count == 0 || strcmp(mesh->text[0], "all") != 0 || op->count == 0 ||
        settings_kind(settings, op->text[0]) != ON_TEXT)
        return 0;
    if (mesh->count > 1 || op->count > 1 || strcmp(op->text[0], "-") == 0)
        return status_fail(st, STATUS_INPUT,
                           "--mesh all lays the mesh of one program, in a file; run each by itself");
    int code = hlo_load(&module, op->text[0], settings_text(settings, "trip-count"), NULL, st);
    if (code == 0)
        code = module_mesh(&module, &axes, st);
    module_free(&module);
    if (code < 0)
        return code;
    settings_drop(settings, "mesh");
    settings->sorted = true;
    return settings_add(settings, option_by_name("mesh"), axes_print(&axes, text), st);
}

/* For a transformer "all" means every mesh of its axes. */
static const char *mesh_value(const struct settings *settings, int v)
{
    const char *text = value(values_of(settings, "mesh"), v);
    return text && strcmp(text, "all") == 0 ? settings->every_mesh : text;
}

/* With --mesh all the slice is open, too, unless it is given: every one that is offered. */
static const char *slice_value(const struct setting *slice, int s, const struct setting *mesh, int m)
{
    const char *text = value(mesh, m);
    return slice->count == 0 && text && strcmp(text, "all") == 0 ? "offered" : value(slice, s);
}

static bool is_open(const struct settings *s)
{
    const struct setting *slice = values_of(s, "slice"), *mesh = values_of(s, "mesh");
    bool open = settings_count(s, "chips") > 0 || s->sorted;
    for (int v = 0; v < slice->count; v++)
        open |= assignments_is_open_slice(slice->text[v]);
    for (int v = 0; v < mesh->count; v++)
        open |= assignments_is_open_mesh(mesh_value(s, v));
    return open;
}

/* A number of chips on the command line overrides the slice of a workload file. */
static void drop_slice_of_file(struct settings *settings)
{
    if (settings_has_argument(settings, option_by_name("chips")) &&
        !settings_has_argument(settings, option_by_name("slice")))
        settings_drop(settings, "slice");
}

/* Finds the slices and meshes of one chip. */
static int find_of_chip(const struct settings *settings, const char *name, struct assignments *assignments,
                        struct status *st)
{
    const struct setting *slice = values_of(settings, "slice"), *mesh = values_of(settings, "mesh");
    struct chip chip;
    int code = chip_load(&chip, name, CHIP_SPEC, st);
    if (code < 0)
        return code;
    const char *op = settings_text(settings, "op");
    for (int s = 0; s < (slice->count ? slice->count : 1) && code == 0; s++)
        for (int m = 0; m < (mesh->count ? mesh->count : 1) && code == 0; m++) {
            struct assignments_query query = {
                .chips = settings_count(settings, "chips") ? settings_integer(settings, "chips") : 0,
                .slice = slice_value(slice, s, mesh, m),
                .mesh = mesh_value(settings, m),
                .wrap = settings_text(settings, "wrap"),
                .all_ways = settings->sorted,
                .cores = op && settings_kind(settings, op) & ON_MODULE ? chip.cores : 1};
            code = assignments_find(assignments, &chip, &query, st);
        }
    chip_free(&chip);
    return code;
}

/* The slices and meshes found for all chips, one chip after the other. */
struct found {
    struct assignments assignments;
    int chips, end[CHIP_BUILT_IN_MAX]; /* end of each chip's assignments */
    char *name[CHIP_BUILT_IN_MAX];
};

static int find_all(const struct settings *settings, struct found *found, struct status *st)
{
    const struct setting *chip = values_of(settings, "chip");
    int code = 0;
    if (settings_count(settings, "wrap") > 1)
        return status_fail(st, STATUS_INPUT,
                           "--chips, --slice all and open meshes are of one --wrap at a time");
    if (chip->count > CHIP_BUILT_IN_MAX)
        return status_fail(st, STATUS_LIMIT, "--chips, --slice all and open meshes are of at most %d chips",
                           CHIP_BUILT_IN_MAX);
    if (chip->count < 2)
        return find_of_chip(settings, settings_text(settings, "chip"), &found->assignments, st);
    for (int c = 0; c < chip->count && code == 0; c++) {
        code = find_of_chip(settings, chip->text[c], &found->assignments, st);
        found->name[c] = strdup(chip->text[c]);
        found->end[found->chips++] = found->assignments.count;
        if (code == 0 && !found->name[c])
            code = status_nomem(st);
    }
    return code;
}

/* Replaces the open values by the lists that were found. */
static int take_all(struct settings *settings, const struct found *found, bool meshes, struct status *st)
{
    const struct assignments *assignments = &found->assignments;
    settings_drop(settings, "slice");
    settings_drop(settings, "mesh");
    if (found->chips > 0)
        settings_drop(settings, "chip");
    int code = 0;
    for (int i = 0, c = 0; i < assignments->count && code == 0; i++) {
        while (found->chips > 0 && i >= found->end[c])
            c++;
        code = settings_add(settings, option_by_name("slice"), assignments->item[i].slice, st);
        if (code == 0 && meshes)
            code = settings_add(settings, option_by_name("mesh"), assignments->item[i].mesh, st);
        if (code == 0 && found->chips > 0)
            code = settings_add(settings, option_by_name("chip"), found->name[c], st);
    }
    return code;
}

int settings_enumerate(struct settings *settings, struct status *st)
{
    struct found found = {0};
    if (take_mesh_of_text(settings, st) < 0)
        return st->code;
    if (!is_open(settings))
        return 0;
    drop_slice_of_file(settings);
    bool meshes = values_of(settings, "mesh")->count > 0;
    int code = find_all(settings, &found, st);
    if (code == 0)
        code = take_all(settings, &found, meshes, st);
    settings->enumerated = true;
    settings->tied = meshes;
    settings->tied_chips = found.chips > 0;
    assignments_free(&found.assignments);
    for (int c = 0; c < found.chips; c++)
        free(found.name[c]);
    return code;
}
