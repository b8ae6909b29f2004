/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "notation/axes.h"

#include <string.h>

#include "base/cursor.h"
#include "base/text.h"

int axes_add(struct axes *axes, const char *name, int n, struct status *st)
{
    if (axes_find(axes, name) >= 0)
        return status_fail(st, STATUS_INPUT, "mesh: axis '%s' twice; every axis needs a name of its own",
                           name);
    if (axes->count == AXES_MAX)
        return status_fail(st, STATUS_LIMIT, "mesh: more than %d axes", AXES_MAX);
    if (strlen(name) >= AXIS_NAME)
        return status_fail(st, STATUS_INPUT, "mesh: the name '%.40s' is longer than %d letters", name,
                           AXIS_NAME - 1);
    if (n < 1)
        return status_fail(st, STATUS_INPUT, "mesh: axis '%s' has size %d; the least is 1", name, n);
    if (n > AXES_DEVICES_MAX / axes_devices(axes))
        return status_fail(st, STATUS_LIMIT, "mesh: more than %d devices with axis '%s'", AXES_DEVICES_MAX,
                           name);
    int at = axes->count++;
    strcpy(axes->axis[at].name, name);
    axes->axis[at].n = n;
    return 0;
}

int axes_parse(const char *text, struct axes *axes, struct status *st)
{
    struct cursor c = cursor_of("mesh", text, st);
    *axes = (struct axes){0};
    do {
        char name[AXIS_NAME] = "";
        int64_t n = 0;
        cursor_name(&c, "an axis, as in dp=4,tp=2", name, sizeof name);
        if (!cursor_accept(&c, "="))
            return cursor_fail(&c, "expected '=' and the size of axis %s, as in dp=4,tp=2", name);
        if (cursor_integer(&c, "the size of an axis", 1, AXES_DEVICES_MAX, &n) == 0)
            c.code = axes_add(axes, name, (int)n, st);
    } while (cursor_accept(&c, ","));
    return cursor_end(&c);
}

char *axes_print(const struct axes *axes, char text[static AXES_TEXT])
{
    text[0] = '\0';
    for (int a = 0; a < axes->count; a++)
        text_add(text, AXES_TEXT, "%s%s=%d", a ? "," : "", axes->axis[a].name, axes->axis[a].n);
    return text;
}

int axes_devices(const struct axes *axes)
{
    int devices = 1;
    for (int a = 0; a < axes->count; a++)
        devices *= axes->axis[a].n;
    return devices;
}

int axes_find(const struct axes *axes, const char *name)
{
    for (int a = 0; a < axes->count; a++)
        if (strcmp(axes->axis[a].name, name) == 0)
            return a;
    return -1;
}

int axes_coord(const struct axes *axes, int device, int axis)
{
    for (int a = axes->count - 1; a > axis; a--)
        device /= axes->axis[a].n;
    return device % axes->axis[axis].n;
}

static void swap(int *a, int *b)
{
    int kept = *a;
    *a = *b;
    *b = kept;
}

bool axes_next_order(int order[], int n)
{
    int i = n - 1, j;
    while (i > 0 && order[i - 1] > order[i])
        i--;
    for (int low = i, high = n - 1; low < high; low++, high--)
        swap(&order[low], &order[high]);
    if (i <= 0)
        return false;
    for (j = i; order[j] < order[i - 1]; j++)
        ;
    swap(&order[j], &order[i - 1]);
    return true;
}

int axis_list_add(struct axis_list *list, const struct axes *axes, const char *name, struct status *st)
{
    int axis = axes_find(axes, name);
    if (axis < 0) {
        char text[AXES_TEXT];
        return status_fail(st, STATUS_INPUT, "the mesh has no axis '%.40s'; it is %s", name,
                           axes->count ? axes_print(axes, text) : "without axes");
    }
    for (int i = 0; i < list->count; i++)
        if (list->axis[i] == axis)
            return status_fail(st, STATUS_INPUT, "axis '%s' is named twice; name it once", name);
    list->axis[list->count++] = axis;
    return 0;
}

int axis_list_parse(const char *text, const struct axes *axes, struct axis_list *list, struct status *st)
{
    struct cursor c = cursor_of("axes", text, st);
    *list = (struct axis_list){0};
    bool parentheses = cursor_accept(&c, "(");
    const char *close = parentheses ? ")" : "";
    bool empty = parentheses ? cursor_sees(&c, ")") : *c.at == '\0';
    while (!empty) {
        char name[AXIS_NAME];
        if (cursor_name(&c, "a mesh axis", name, sizeof name) == 0)
            c.code = axis_list_add(list, axes, name, st);
        /* Python writes a tuple of one as (tp,). */
        if (!cursor_accept(&c, ",") || (parentheses && cursor_sees(&c, ")")))
            break;
    }
    cursor_expect(&c, close);
    return cursor_end(&c);
}

bool axis_list_has(const struct axis_list *list, int axis)
{
    return axis_list_set(list) & 1u << axis;
}

unsigned axis_list_set(const struct axis_list *list)
{
    unsigned set = 0;
    for (int i = 0; i < list->count; i++)
        set |= 1u << list->axis[i];
    return set;
}

struct axis_list axis_list_of_set(unsigned set)
{
    struct axis_list list = {0};
    for (int a = 0; a < AXES_MAX; a++)
        if (set & 1u << a)
            list.axis[list.count++] = a;
    return list;
}

void axis_list_append(struct axis_list *list, const struct axis_list *more)
{
    for (int i = 0; i < more->count; i++)
        list->axis[list->count++] = more->axis[i];
}

int axis_list_common(const struct axis_list *a, const struct axis_list *b)
{
    int n = 0;
    while (n < a->count && n < b->count && a->axis[n] == b->axis[n])
        n++;
    return n;
}

char *axis_list_print(const struct axis_list *list, const struct axes *axes, char text[static AXES_TEXT])
{
    strcpy(text, list->count == 1 ? "" : "(");
    for (int i = 0; i < list->count; i++)
        text_add(text, AXES_TEXT, "%s%s", i ? "," : "", axes->axis[list->axis[i]].name);
    return text_add(text, AXES_TEXT, list->count == 1 ? "" : ")");
}

int axis_list_size(const struct axis_list *list, const struct axes *axes)
{
    int size = 1;
    for (int i = 0; i < list->count; i++)
        size *= axes->axis[list->axis[i]].n;
    return size;
}

int axis_list_position(const struct axis_list *list, const struct axes *axes, int device)
{
    int position = 0;
    for (int i = 0; i < list->count; i++)
        position = position * axes->axis[list->axis[i]].n + axes_coord(axes, device, list->axis[i]);
    return position;
}

/* In place, digit by digit: each number so far becomes digit.n numbers. It works from the last entry to the
 * first, since the first of the new numbers lands where the old one was. */
void axes_count(const struct axes_digit digit[], int digits, int32_t number[])
{
    int64_t places = 1;
    number[0] = 0;
    for (int i = 0; i < digits; places *= digit[i++].n)
        for (int64_t at = places - 1; at >= 0; at--)
            for (int64_t k = digit[i].n - 1; k >= 0; k--)
                number[at * digit[i].n + k] = (int32_t)(number[at] + k * digit[i].step);
}

void axis_list_groups(const struct axis_list *list, const struct axes *axes, int32_t device[])
{
    struct axis_list order = axis_list_of_set(((1u << axes->count) - 1) & ~axis_list_set(list));
    axis_list_append(&order, list);
    struct axes_digit of_axis[AXES_MAX], digit[AXES_MAX];
    for (int a = axes->count - 1, devices = 1; a >= 0; devices *= axes->axis[a--].n)
        of_axis[a] = (struct axes_digit){axes->axis[a].n, devices};
    for (int i = 0; i < order.count; i++)
        digit[i] = of_axis[order.axis[i]];
    axes_count(digit, order.count, device);
}
