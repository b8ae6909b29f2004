/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "notation/spec.h"

#include <string.h>

#include "base/cursor.h"
#include "base/text.h"

bool spec_names_axis(const struct spec *spec, int axis)
{
    for (int d = 0; d < spec->dims; d++)
        if (axis_list_has(&spec->dim[d], axis))
            return true;
    return false;
}

/* Appends an axis to the list of the last entry. It is an error if any entry has the axis already. */
static int add_axis(struct spec *spec, const struct axes *axes, const char *name, struct status *st)
{
    int axis = axes_find(axes, name);
    if (axis >= 0 && spec_names_axis(spec, axis))
        return status_fail(st, STATUS_INPUT, "spec: axis '%s' is named twice; an axis can cut only one dim",
                           name);
    return axis_list_add(&spec->dim[spec->dims - 1], axes, name, st);
}

/* One entry: None, tp, or (dp, tp). */
static int parse_entry(struct cursor *c, const struct axes *axes, struct spec *spec)
{
    char name[AXIS_NAME];
    bool tuple = cursor_accept(c, "(");
    if (spec->dims == SPEC_DIMS)
        return cursor_fail(c, "more than %d entries", SPEC_DIMS);
    spec->dims++;
    while (!tuple || !cursor_sees(c, ")")) {
        const char *start = c->at;
        if (cursor_name(c, "None, an axis or (axes)", name, sizeof name) < 0)
            return c->code;
        if ((strcmp(name, "None") == 0 || strcmp(name, "null") == 0) && *start != '\'' && *start != '"') {
            if (tuple)
                return cursor_fail(c, "None inside a list of axes; write the axes only");
        } else {
            c->code = add_axis(spec, axes, name, c->st);
        }
        if (!tuple || !cursor_accept(c, ","))
            break;
    }
    return tuple ? cursor_expect(c, ")") : c->code;
}

int spec_parse(const char *text, const struct axes *axes, struct spec *spec, struct status *st)
{
    struct cursor c = cursor_of("spec", text, st);
    *spec = (struct spec){0};
    if (!cursor_accept(&c, "PartitionSpec"))
        (void)cursor_accept(&c, "P");
    cursor_expect(&c, "(");
    while (c.code == 0 && !cursor_sees(&c, ")")) {
        parse_entry(&c, axes, spec);
        if (!cursor_accept(&c, ","))
            break;
    }
    cursor_expect(&c, ")");
    return cursor_end(&c);
}

char *spec_print(const struct spec *spec, const struct axes *axes, char text[static SPEC_TEXT])
{
    strcpy(text, "P(");
    for (int d = 0; d < spec->dims; d++) {
        char list[AXES_TEXT];
        axis_list_print(&spec->dim[d], axes, list);
        text_add(text, SPEC_TEXT, "%s%s", d ? "," : "", spec->dim[d].count ? list : "None");
    }
    return text_add(text, SPEC_TEXT, ")");
}
