/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "notation/groups_mesh.h"

#include <stdlib.h>
#include <string.h>

/* A position in a mesh is a mixed-radix number with one digit for each axis; a part of an axis is a digit
 * within that digit. `step` is the difference of two positions whose digit differs by one. */
enum { MESH_AXES = 32, MESH_NAME = 64 };
struct mesh_axis {
    char name[MESH_NAME];
    int64_t size, step;
};
struct mesh_text {
    struct mesh_axis axis[MESH_AXES];
    struct axes_digit part[MESH_AXES];
    int axes, parts, devices;
    int *device; /* device by position; NULL: device and position are equal */
};

/* "['x'=2,'y'=4]" */
static int read_axes(struct cursor *c, struct mesh_text *mesh)
{
    int64_t devices = 1;
    cursor_expect(c, "[");
    do {
        struct mesh_axis *axis = &mesh->axis[mesh->axes];
        if (mesh->axes == MESH_AXES)
            return cursor_fail(c, "more than %d axes", MESH_AXES);
        cursor_name(c, "an axis", axis->name, sizeof axis->name);
        cursor_expect(c, "=");
        if (cursor_integer(c, "the size of an axis", 1, GROUPS_DEVICES_MAX, &axis->size) < 0)
            return c->code;
        mesh->axes++;
        devices *= axis->size;
        if (devices > GROUPS_DEVICES_MAX)
            return cursor_fail(c, "a mesh of more than %d devices", GROUPS_DEVICES_MAX);
    } while (cursor_accept(c, ","));
    mesh->devices = (int)devices;
    for (int a = mesh->axes - 1, step = 1; a >= 0; step *= (int)mesh->axis[a--].size)
        mesh->axis[a].step = step;
    return cursor_expect(c, "]");
}

/* "([4,2]T(1,0))" or "(3,1,2,0)" */
static int read_devices(struct cursor *c, struct mesh_text *mesh)
{
    int members = 0;
    cursor_expect(c, "(");
    if (cursor_sees(c, "[")) {
        groups_parse_order(c, mesh->devices, &mesh->device, &members);
    } else {
        if (!(mesh->device = malloc((size_t)mesh->devices * sizeof *mesh->device)))
            return c->code = status_nomem(c->st);
        for (; members < mesh->devices; members++) {
            int64_t device = 0;
            if (members > 0)
                cursor_expect(c, ",");
            cursor_integer(c, "a device", 0, mesh->devices - 1, &device);
            mesh->device[members] = (int)device;
        }
    }
    return cursor_expect(c, ")");
}

/* "'y'" or "'y':(2)2" */
static int read_part(struct cursor *c, struct mesh_text *mesh)
{
    char name[MESH_NAME];
    int64_t before = 1, size;
    int a = 0;
    if (cursor_name(c, "an axis", name, sizeof name) < 0)
        return c->code;
    while (a < mesh->axes && strcmp(mesh->axis[a].name, name) != 0)
        a++;
    if (a == mesh->axes)
        return cursor_fail(c, "the mesh has no axis '%s'", name);
    size = mesh->axis[a].size;
    if (cursor_accept(c, ":")) {
        cursor_expect(c, "(");
        cursor_integer(c, "what varies slower", 1, size, &before);
        cursor_expect(c, ")");
        cursor_integer(c, "a part", 1, size, &size);
    }
    if (mesh->axis[a].size % (before * size) != 0)
        return cursor_fail(c, "a part of %lld after %lld does not divide the %lld of '%s'", (long long)size,
                           (long long)before, (long long)mesh->axis[a].size, name);
    if (mesh->parts == MESH_AXES)
        return cursor_fail(c, "more than %d axes in a group", MESH_AXES);
    int64_t after = mesh->axis[a].size / (before * size);
    mesh->part[mesh->parts++] = (struct axes_digit){size, mesh->axis[a].step * after};
    return 0;
}

/* "{'x','y':(2)2}" */
static int read_parts(struct cursor *c, struct mesh_text *mesh)
{
    cursor_expect(c, "{");
    if (cursor_accept(c, "}"))
        return 0;
    do
        read_part(c, mesh);
    while (cursor_accept(c, ","));
    return cursor_expect(c, "}");
}

/* A group consists of the positions that agree in all digits except those of the parts. Its first member has
 * zeros in these digits, so it is the lowest position that is in no earlier group. */
static int fill(struct cursor *c, const struct mesh_text *mesh, struct groups *groups)
{
    int64_t size = 1;
    for (int p = 0; p < mesh->parts && size <= mesh->devices; p++)
        size *= mesh->part[p].n;
    if (mesh->devices % size != 0)
        return cursor_fail(c, "the axes of a group overlap");
    int code = groups_init(groups, mesh->devices / (int)size, (int)size, c->st), found = 0;
    int32_t *apart = malloc((size_t)size * sizeof *apart);
    bool *seen = calloc((size_t)mesh->devices, sizeof *seen);
    if (!apart || !seen)
        code = status_nomem(c->st);
    else
        axes_count(mesh->part, mesh->parts, apart);
    for (int first = 0; code == 0 && found < mesh->devices; first++) {
        if (seen[first])
            continue;
        for (int64_t i = 0; code == 0 && i < size; i++) {
            int at = first + apart[i];
            if (at >= mesh->devices || seen[at])
                code = cursor_fail(c, "the axes of a group overlap");
            else
                groups->member[found++] = mesh->device ? mesh->device[at] : at;
            seen[code == 0 ? at : first] = true;
        }
    }
    free(apart);
    free(seen);
    return code;
}

int groups_parse_mesh(struct cursor *c, int devices, struct groups *groups)
{
    struct mesh_text mesh = {0};
    read_axes(c, &mesh);
    if (devices && mesh.devices != devices)
        cursor_fail(c, "a mesh of %d devices; there are %d", mesh.devices, devices);
    if (cursor_accept(c, ",") && cursor_expect(c, "device_ids") == 0 && cursor_expect(c, "=") == 0)
        read_devices(c, &mesh);
    int code = read_parts(c, &mesh) < 0 ? c->code : fill(c, &mesh, groups);
    free(mesh.device);
    return code;
}
