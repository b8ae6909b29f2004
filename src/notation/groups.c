/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "notation/groups_mesh.h"

enum { IOTA_DIMS = 16 };

int groups_init(struct groups *groups, int count, int size, struct status *st)
{
    *groups = (struct groups){count, size, calloc((size_t)count * (size_t)size, sizeof *groups->member)};
    return groups->member ? 0 : status_nomem(st);
}

void groups_free(struct groups *groups)
{
    free(groups->member);
    *groups = (struct groups){0};
}

int groups_check(const struct groups *groups, int devices, struct status *st)
{
    unsigned char *seen = calloc((size_t)devices + 1, 1);
    const int *member = groups->member;
    int at = 0, members = groups->count * groups->size, missing = 0;
    if (!seen)
        return status_nomem(st);
    for (; at < members && member[at] >= -1 && member[at] < devices; at++)
        if (member[at] >= 0 && seen[member[at]]++)
            break;
    while (at == members && missing < devices && seen[missing])
        missing++;
    free(seen);
    if (at == members && missing == devices)
        return 0;
    if (at == members)
        return status_fail(st, STATUS_INPUT,
                           "groups: device %d is in no group; each of 0 to %d must be in one", missing,
                           devices - 1);
    if (member[at] < 0 || member[at] >= devices)
        return status_fail(st, STATUS_INPUT, "groups: there is no device %d; they are 0 to %d", member[at],
                           devices - 1);
    return status_fail(st, STATUS_INPUT,
                       "groups: device %d is in more than one place; groups must not overlap", member[at]);
}

static int one_group(int devices, struct groups *groups, struct status *st)
{
    int code = groups_init(groups, 1, devices, st);
    for (int i = 0; code == 0 && i < devices; i++)
        groups->member[i] = i;
    return code;
}

static int count_commas(const char *text)
{
    int n = 0;
    while ((text = strchr(text, ',')))
        text++, n++;
    return n;
}

/* Length of the longest list, to which shorter ones are filled up. *room is the number of members of all
 * lists at that length. */
static int longest_list(struct cursor *c, char close, int *room)
{
    int64_t lists = 0, longest = 0, length = 0;
    for (const char *at = c->at; *at; at++) {
        length += isdigit((unsigned char)*at) && !isdigit((unsigned char)at[-1]); /* `at` follows a bracket */
        if (*at != close)
            continue;
        longest = length > longest ? length : longest;
        length = 0;
        lists++;
    }
    *room = (int)(lists * longest);
    return lists * longest <= GROUPS_DEVICES_MAX
               ? (int)longest
               : cursor_fail(c, "groups of more than %d members in all", GROUPS_DEVICES_MAX);
}

/* Reads "{0,1},{2,3}}", after the bracket that opens the list. Room for `devices` members is enough, since
 * every device must appear once: a longer list is refused when the room is full. */
static int parse_listed(struct cursor *c, const char *brackets, int devices, bool uneven,
                        struct groups *groups)
{
    const char open[] = {brackets[0], 0}, close[] = {brackets[1], 0};
    int most = devices ? devices : GROUPS_DEVICES_MAX, members = 0;
    int room = devices ? devices : count_commas(c->at) + 1;
    int longest = uneven ? longest_list(c, *close, &room) : 0;
    if (longest < 0)
        return longest;
    c->code = groups_init(groups, 1, room, c->st);
    groups->count = 0;
    do {
        int first = members;
        cursor_expect(c, open);
        do {
            int64_t device = 0;
            if (cursor_integer(c, "a device", 0, most - 1, &device) < 0)
                return c->code;
            if (members == room)
                return cursor_fail(c, "more than %d members for %d devices; groups must not overlap", devices,
                                   devices);
            groups->member[members++] = (int)device;
        } while (cursor_accept(c, ",") && !cursor_sees(c, close)); /* Python's tuple of one is (0,) */
        cursor_expect(c, close);
        while (members - first < longest && members < room)
            groups->member[members++] = -1;
        if (groups->count++ == 0)
            groups->size = members;
        else if (members - first != groups->size)
            cursor_fail(c, "a group of %d after groups of %d; all must have the same size", members - first,
                        groups->size);
    } while (cursor_accept(c, ","));
    return cursor_expect(c, close);
}

/* Reads "[2,4]": each dim is from `least` to `most`. */
static int parse_dims(struct cursor *c, const char *open, const char *close, int64_t least, int most,
                      int64_t dim[IOTA_DIMS], int *dims)
{
    *dims = 0;
    cursor_expect(c, open);
    do {
        if (*dims == IOTA_DIMS)
            return cursor_fail(c, "more than %d dims", IOTA_DIMS);
        cursor_integer(c, "a dim", least, most, &dim[(*dims)++]);
    } while (cursor_accept(c, ","));
    return cursor_expect(c, close);
}

static int64_t product(const int64_t dim[], int dims)
{
    int64_t n = 1;
    for (int i = 0; i < dims && n <= GROUPS_DEVICES_MAX; i++)
        n *= dim[i];
    return n;
}

int groups_parse_order(struct cursor *c, int devices, int **member, int *members)
{
    int64_t dim[IOTA_DIMS] = {0}, turn[IOTA_DIMS] = {0};
    struct axes_digit of_dim[IOTA_DIMS], digit[IOTA_DIMS];
    int most = devices ? devices : GROUPS_DEVICES_MAX, dims, turns;
    unsigned seen = 0;
    if (parse_dims(c, "[", "]", 1, most, dim, &dims) < 0)
        return c->code;
    for (turns = 0; turns < dims; turns++)
        turn[turns] = turns;
    if (cursor_accept(c, "T") && parse_dims(c, "(", ")", 0, dims - 1, turn, &turns) < 0)
        return c->code;
    for (int d = 0; d < turns; d++)
        seen |= 1u << turn[d];
    if (turns != dims || seen != (1u << dims) - 1)
        return cursor_fail(c, "T(...) must name each of the dims 0 to %d once", dims - 1);
    int64_t n = product(dim, dims);
    if (devices ? n != devices : n > GROUPS_DEVICES_MAX)
        return cursor_fail(c, "the dims must multiply to the number of devices, %d%s", most,
                           devices ? "" : " at most");
    if (!(*member = malloc((size_t)n * sizeof **member)))
        return c->code = status_nomem(c->st);
    for (int64_t d = dims - 1, step = 1; d >= 0; step *= dim[d--])
        of_dim[d] = (struct axes_digit){dim[d], step};
    for (int d = 0; d < dims; d++)
        digit[d] = of_dim[turn[d]];
    axes_count(digit, dims, *member);
    *members = (int)n;
    return 0;
}

/* "[4,2]<=[2,4]T(1,0)" */
static int parse_iota(struct cursor *c, int devices, struct groups *groups)
{
    int64_t shape[IOTA_DIMS] = {0};
    int shapes, members;
    parse_dims(c, "[", "]", 1, devices ? devices : GROUPS_DEVICES_MAX, shape, &shapes);
    cursor_expect(c, "<=");
    if (groups_parse_order(c, devices, &groups->member, &members) < 0)
        return c->code;
    if (shapes != 2)
        return cursor_fail(c, "expected [groups,size] before '<=', as in [2,4]<=[8]");
    if (product(shape, shapes) != members)
        return cursor_fail(c, "both sides of '<=' must multiply to the number of devices, %d", members);
    groups->count = (int)shape[0];
    groups->size = (int)shape[1];
    return 0;
}

static int parse(const char *text, int devices, bool uneven, struct groups *groups, struct status *st)
{
    struct cursor c = cursor_of("groups", text, st);
    int code;
    *groups = (struct groups){0};
    if (cursor_accept(&c, "{")) {
        if (cursor_accept(&c, "}"))
            code = devices ? one_group(devices, groups, st) : 0;
        else
            code = parse_listed(&c, "{}", devices, uneven, groups);
    } else if (cursor_accept(&c, "(")) {
        code = parse_listed(&c, "()", devices, uneven, groups);
    } else if (cursor_accept(&c, "[")) {
        if (cursor_sees(&c, "[")) {
            code = parse_listed(&c, "[]", devices, uneven, groups);
        } else {
            c.at = text; /* the bracket belongs to the dims of an iota */
            code = parse_iota(&c, devices, groups);
        }
    } else if (cursor_accept(&c, "mesh")) {
        code = groups_parse_mesh(&c, devices, groups);
    } else {
        code = cursor_fail(&c, "expected {{0,1},{2,3}}, [2,2]<=[4] or mesh['x'=2,'y'=2] {'x'}");
    }
    if (code == 0 && (code = cursor_end(&c)) == 0 && devices)
        code = groups_check(groups, devices, st);
    if (code < 0)
        groups_free(groups);
    return code;
}

int groups_parse(const char *text, int devices, struct groups *groups, struct status *st)
{
    return parse(text, devices, false, groups, st);
}

int groups_parse_uneven(const char *text, struct groups *groups, struct status *st)
{
    return parse(text, 0, true, groups, st);
}

int groups_length(const struct groups *groups, int group)
{
    const int *member = groups->member + (ptrdiff_t)group * groups->size;
    int n = groups->size;
    while (n > 0 && member[n - 1] < 0)
        n--;
    return n;
}

bool groups_are_uneven(const struct groups *groups)
{
    for (int g = 0; g < groups->count; g++)
        if (groups_length(groups, g) < groups->size)
            return true;
    return false;
}

int groups_over_axes(const struct axes *axes, const struct axis_list *list, struct groups *groups,
                     struct status *st)
{
    int size = axis_list_size(list, axes);
    int code = groups_init(groups, axes_devices(axes) / size, size, st);
    if (code == 0)
        axis_list_groups(list, axes, groups->member);
    return code;
}

int groups_divide(const struct groups *outer, const struct groups *inner, struct groups *groups,
                  struct status *st)
{
    int code = groups_check(inner, outer->size, st);
    *groups = (struct groups){0};
    if (code < 0 || (code = groups_init(groups, outer->count * inner->count, inner->size, st)) < 0)
        return code;
    int slots = inner->count * inner->size;
    for (int g = 0; g < outer->count; g++)
        for (int i = 0; i < slots; i++)
            groups->member[g * slots + i] =
                inner->member[i] < 0 ? -1 : outer->member[g * outer->size + inner->member[i]];
    return 0;
}
