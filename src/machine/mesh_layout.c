/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading and printing a mesh layout, and the lines of its axes. */
#include "machine/mesh_layout.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void add_side(struct mesh_layout *layout, int mesh_axis, int axis, int n)
{
    layout->side[mesh_axis][layout->sides[mesh_axis]++] = (struct side){axis, n, 1, false};
}

static bool has_side(const struct mesh_layout *layout, int mesh_axis, int axis)
{
    for (int s = 0; s < layout->sides[mesh_axis]; s++)
        if (layout->side[mesh_axis][s].axis == axis)
            return true;
    return false;
}

void mesh_layout_of_slice(struct mesh_layout *layout, const struct slice *slice)
{
    memset(layout, 0, sizeof *layout);
    for (int a = 0; a < slice->axes; a++)
        add_side(layout, a, a, slice->len[a]);
}

/* Reads ":2" at *at and moves past it; returns 0 if there is no number. */
static long read_number(const char **at, const char *end)
{
    char *rest;
    if (*at >= end || **at != ':' || !isdigit((unsigned char)(*at)[1]))
        return 0;
    long n = strtol(*at + 1, &rest, 10);
    *at = rest;
    return n;
}

/* Reads "x", "y:2" or "y:2:4" at *at and moves past it; returns false if there is no such text. */
static bool read_side(const char **at, const char *end, const struct slice *slice, struct mesh_layout *layout,
                      int mesh_axis)
{
    int axis = *at < end ? slice_axis_by_name(**at) : -1;
    if (axis < 0 || axis >= slice->axes || has_side(layout, mesh_axis, axis))
        return false;
    bool part = ++*at < end && **at == ':';
    long n = part ? read_number(at, end) : slice->len[axis];
    bool said = part && *at < end && **at == ':';
    long stride = said ? read_number(at, end) : 1;
    if (n < 1 || n > slice->len[axis] || stride < 1 || stride > slice->len[axis])
        return false;
    add_side(layout, mesh_axis, axis, (int)n);
    struct side *side = &layout->side[mesh_axis][layout->sides[mesh_axis] - 1];
    side->stride = (int)stride;
    side->said = said;
    return true;
}

/* Reads the value of "NAME=x*y:2". Returns the number of its sides, 0 if the value is a number, or a failure. */
static int read_sides(const char *value, const char *end, const struct slice *slice,
                      struct mesh_layout *layout, int mesh_axis, struct status *st)
{
    const char *at = value;
    while (at < end && isspace((unsigned char)*at))
        at++;
    if (at == end || isdigit((unsigned char)*at) || *at == '-')
        return 0;
    while (read_side(&at, end, slice, layout, mesh_axis)) {
        if (at == end)
            return layout->sides[mesh_axis];
        if (*at++ != '*')
            break;
    }
    return status_fail(
        st, STATUS_INPUT,
        "mesh: '%.*s' is neither a size nor axes of the slice, each once; write 8, x*y or x:2*y",
        (int)(end - value), value);
}

/* Is the stride of a part exactly the product of the parts inside it? */
static bool holds_inner(const struct mesh_layout *layout, int axes, const struct side *outer)
{
    int inner = 1;
    for (int a = 0; a < axes; a++)
        for (int s = 0; s < layout->sides[a]; s++) {
            const struct side *side = &layout->side[a][s];
            if (side->axis != outer->axis || side == outer || side->n == 1)
                continue;
            if (side->stride == outer->stride)
                return false;
            inner *= side->stride < outer->stride ? side->n : 1;
        }
    return inner == outer->stride;
}

/* Sets the strides. Parts of the same physical axis are nested, with the part of the last mesh axis
 * innermost, unless they give strides; together they must fill the axis. */
static int set_strides(struct mesh_layout *layout, const char *text, const struct slice *slice, int axes,
                       struct status *st)
{
    int filled[SLICE_AXES] = {1, 1, 1};
    for (int a = axes - 1; a >= 0; a--)
        for (int s = 0; s < layout->sides[a]; s++) {
            struct side *side = &layout->side[a][s];
            side->stride = side->said ? side->stride : filled[side->axis];
            filled[side->axis] *= side->n;
        }
    for (int p = 0; p < slice->axes; p++)
        if (filled[p] != slice->len[p])
            return status_fail(
                st, STATUS_INPUT,
                "mesh '%s' takes %d chips along axis %c, which has %d; each axis is used once, "
                "or in parts that multiply to it",
                text, filled[p], slice_axis_name(p), slice->len[p]);
    for (int a = 0; a < axes; a++)
        for (int s = 0; s < layout->sides[a]; s++)
            if (layout->side[a][s].n > 1 && !holds_inner(layout, axes, &layout->side[a][s]))
                return status_fail(
                    st, STATUS_INPUT,
                    "mesh '%s': the parts of axis %c do not lie inside each other; of each part "
                    "write how many links apart its places are, as in X=x:2:1,Y=x:4:2",
                    text, slice_axis_name(layout->side[a][s].axis));
    return 0;
}

int mesh_layout_parse(struct mesh_layout *layout, const char *text, const struct slice *slice,
                      struct axes *axes, struct status *st)
{
    char sizes[AXES_TEXT] = "";
    int named = 0, item = 0;
    size_t used = 0;
    memset(layout, 0, sizeof *layout);
    for (const char *at = text; *at; item++) {
        size_t length = strcspn(at, ","), name = strcspn(at, "=,");
        const char *value = name < length ? at + name + 1 : at + length, *end = at + length;
        int sides = item < AXES_MAX ? read_sides(value, end, slice, layout, item, st) : 0, n = 1;
        if (sides < 0)
            return sides;
        for (int s = 0; s < sides; s++)
            n *= layout->side[item][s].n;
        named += sides > 0;
        int wrote =
            sides
                ? snprintf(sizes + used, sizeof sizes - used, "%s%.*s=%d", item ? "," : "", (int)name, at, n)
                : snprintf(sizes + used, sizeof sizes - used, "%s%.*s", item ? "," : "", (int)length, at);
        used += (size_t)wrote;
        if (used >= sizeof sizes)
            return status_fail(st, STATUS_INPUT, "mesh '%.40s...': too long; it has at most %d axes", text,
                               AXES_MAX);
        at += length + (at[length] == ',');
    }
    int code = axes_parse(sizes, axes, st);
    int unnamed = 0;
    for (int a = 0; code >= 0 && a < axes->count; a++)
        unnamed += layout->sides[a] == 0 && axes->axis[a].n > 1;
    if (code >= 0 && named > 0 && unnamed == 0)
        code = set_strides(layout, text, slice, axes->count, st);
    return code < 0 ? code : named;
}

char *mesh_layout_print(const struct mesh_layout *layout, const struct slice *slice, int mesh_axis,
                        char text[static MESH_LAYOUT_TEXT])
{
    *text = '\0';
    for (int s = 0; s < layout->sides[mesh_axis]; s++) {
        const struct side *side = &layout->side[mesh_axis][s];
        text_add(text, MESH_LAYOUT_TEXT, "%s%c", s ? "*" : "", slice_axis_name(side->axis));
        if (side->n != slice->len[side->axis])
            text_add(text, MESH_LAYOUT_TEXT, side->said ? ":%d:%d" : ":%d", side->n, side->stride);
    }
    return *text ? text : text_add(text, MESH_LAYOUT_TEXT, "one chip");
}

static int by_place(const void *a, const void *b)
{
    const struct side *x = a, *y = b;
    return x->axis != y->axis ? x->axis - y->axis : (x->stride > y->stride) - (x->stride < y->stride);
}

int mesh_layout_lines(const struct mesh_layout *layout, const struct axis_list *list,
                      struct side line[static MESH_LAYOUT_LINES])
{
    int sides = 0, lines = 0;
    for (int i = 0; i < list->count; i++)
        for (int s = 0; s < layout->sides[list->axis[i]]; s++)
            if (layout->side[list->axis[i]][s].n > 1)
                line[sides++] = layout->side[list->axis[i]][s];
    if (sides > 0)
        qsort(line, (size_t)sides, sizeof *line, by_place);
    for (int i = 0; i < sides; i++) {
        struct side *last = lines > 0 ? &line[lines - 1] : NULL;
        if (last && last->axis == line[i].axis && last->stride * last->n == line[i].stride)
            last->n *= line[i].n;
        else
            line[lines++] = line[i];
    }
    return lines;
}
