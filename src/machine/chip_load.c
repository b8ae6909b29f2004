/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loading a chip from its files: the base, if it has one, and its own file. */
#include <math.h>
#include <string.h>

#include "base/embedded.h"
#include "base/text.h"
#include "machine/chip_read.h"

const char *const chip_profile_names[] = {"spec", "measured", NULL};

/* Sets the values of a chip before any file is read. */
static void set_defaults(struct chip *chip, enum chip_profile profile)
{
    *chip = (struct chip){.profile = profile,
                          .ring = "bidi-half",
                          .algorithm = "schedule",
                          .collective_queue = "tensorcore",
                          .jax_mesh = "whole axes",
                          .wrap = CHIP_WRAP_NEVER};
    chip->hbm_Bps = chip->link_Bps = chip->link_nominal_Bps = chip->pcie_Bps = chip->dcn_Bps = NAN;
    chip->hop_latency_s = chip->step_efficiency = NAN;
    chip->clock_Hz = chip->loop_hbm_efficiency = chip->loop_overhead_s = NAN;
    chip->cores = chip->tensorcores = 1;
    for (int d = 0; d < DTYPE_COUNT; d++)
        chip->peak_flops[d] = NAN;
}

/* Fails if a value is missing without which no slice can be made. */
static int check_complete(const struct chip *chip, const struct node *root, struct status *st)
{
    static const char *const needed[] = {"pod", "wrap", "link_bandwidth", "hop_latency"};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (!chip_fact(chip, needed[i]))
            return node_fail(
                root, st, STATUS_INPUT,
                "spec has no %s; add it, or start from a known chip with a line such as 'base: v5e'",
                needed[i]);
    return 0;
}

static const struct embedded_file *built_in(const char *name)
{
    for (const struct embedded_file *f = embedded_chips; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

void chip_names(const char *names[static CHIP_BUILT_IN_MAX])
{
    int n = 0;
    for (const struct embedded_file *f = embedded_chips; f->name && n < CHIP_BUILT_IN_MAX - 1; f++)
        names[n++] = f->name;
    names[n] = NULL;
}

static int unknown(const char *name, struct status *st)
{
    const char *names[CHIP_BUILT_IN_MAX];
    chip_names(names);
    return text_unknown("chip", name, names, st);
}

/* Reads the measured values. The spec profile does not use them, but reads them, so that faults in the file
 * show at once. Only the values for compiled text apply there, too, since the book has none. */
static int read_measured(struct chip *chip, const struct node *measured, struct status *st)
{
    struct chip aside = *chip;
    chip->has_measured = chip->has_measured || measured->count > 0;
    if (chip->profile == CHIP_MEASURED)
        return chip_read_section(chip, measured, true, st);
    int code = chip_read_section(&aside, measured, true, st);
    chip->loop_hbm_efficiency = aside.loop_hbm_efficiency;
    chip->loop_overhead_s = aside.loop_overhead_s;
    return code;
}

/* Reads one file; its values replace earlier ones. */
static int read_file(struct chip *chip, struct document *document, struct status *st)
{
    static const char *const names[] = {"name", "base", "sources", "spec", "measured", NULL};
    const struct node *root = document->root, *name, *spec = node_get(root, "spec");
    const struct node *measured = node_get(root, "measured");
    const char *text = NULL;
    int code = node_only(root, names, st);
    if (code == 0)
        code = node_need(root, "name", &name, st);
    if (code == 0)
        code = node_text(name, "name", &text, st);
    if (code == 0 && strlen(text) >= sizeof chip->name)
        code = node_fail(name, st, STATUS_INPUT, "name '%s' is longer than %d letters", text, CHIP_NAME - 1);
    if (code == 0 && !text_is_one_line(text))
        code = node_fail(name, st, STATUS_INPUT, "name '%s' has control characters; write one line", text);
    if (code < 0)
        return code;
    strcpy(chip->name, text);
    if (spec)
        code = chip_read_section(chip, spec, false, st);
    return code < 0 || !measured ? code : read_measured(chip, measured, st);
}

static int read_base(struct chip *chip, const struct node *base, struct status *st)
{
    const char *name;
    int code = node_text(base, "base", &name, st);
    if (code < 0)
        return code;
    const struct embedded_file *file = built_in(name);
    if (!file)
        return node_prefix(base, st, unknown(name, st));
    code = document_parse(&chip->document[0], file->name, file->text, file->bytes, st);
    return code < 0 ? code : read_file(chip, &chip->document[0], st);
}

/* Reads a chip whose file is parsed already, into chip->document[1]. */
static int read_chip(struct chip *chip, struct status *st)
{
    const struct node *root = chip->document[1].root, *base = node_get(root, "base");
    int code = base ? read_base(chip, base, st) : 0;
    if (code == 0)
        code = read_file(chip, &chip->document[1], st);
    if (code == 0)
        code = check_complete(chip, root, st);
    if (code == 0 && chip->profile == CHIP_MEASURED && !chip->has_measured)
        code = status_fail(st, STATUS_INPUT,
                           "%s has no measured values; use --profile spec, or a chip file with them",
                           chip->name);
    if (chip->tensorcores < chip->cores)
        chip->tensorcores = chip->cores;
    if (code < 0)
        chip_free(chip);
    return code;
}

int chip_parse(struct chip *chip, const char *file, const char *text, size_t bytes, enum chip_profile profile,
               struct status *st)
{
    set_defaults(chip, profile);
    int code = document_parse(&chip->document[1], file, text, bytes, st);
    return code < 0 ? code : read_chip(chip, st);
}

bool chip_is_path(const char *name_or_path)
{
    size_t n = strlen(name_or_path);
    return strchr(name_or_path, '/') || (n > 5 && strcmp(name_or_path + n - 5, ".yaml") == 0);
}

int chip_load(struct chip *chip, const char *name_or_path, enum chip_profile profile, struct status *st)
{
    bool is_path = chip_is_path(name_or_path);
    const struct embedded_file *file = is_path ? NULL : built_in(name_or_path);
    set_defaults(chip, profile);
    if (!is_path && !file)
        return unknown(name_or_path, st);
    int code = is_path ? document_load(&chip->document[1], name_or_path, st)
                       : document_parse(&chip->document[1], file->name, file->text, file->bytes, st);
    return code < 0 ? code : read_chip(chip, st);
}

void chip_free(struct chip *chip)
{
    document_free(&chip->document[0]);
    document_free(&chip->document[1]);
    chip->facts = 0;
}
