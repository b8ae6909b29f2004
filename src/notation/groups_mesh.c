/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "notation/groups_mesh.h"

#include <stdlib.h>
#include <string.h>

/* A mesh position is written in digits, one for each axis; a part of an axis is digits of that digit. `step` is how far
 * apart two positions are whose digit differs by one. */
enum { MESH_AXES = 32, MESH_NAME = 64 };
struct mesh_axis {
    char name[MESH_NAME];
    int64_t size, step;
};
struct mesh_text {
    struct mesh_axis axis[MESH_AXES], part[MESH_AXES]; /* of a part only size and step are set */
    int axes, parts, devices;
    int *device; /* by position; NULL: the position itself */
};

/* "['x'=2,'y'=4]" */
static int read_axes(struct cursor *c, struct mesh_text *mesh)
{
    int code = cursor_expect(c, "[");
    int64_t devices = 1;
    while (code == 0) {
        struct mesh_axis *axis = &mesh->axis[mesh->axes];
        if (mesh->axes == MESH_AXES)
            return cursor_fail(c, "more than %d axes", MESH_AXES);
        if ((code = cursor_name(c, "an axis", axis->name, sizeof axis->name)) < 0 ||
            (code = cursor_expect(c, "=")) < 0 ||
            (code = cursor_integer(c, "the size of an axis", 1, GROUPS_DEVICES_MAX, &axis->size)) < 0)
            return code;
        mesh->axes++;
        devices *= axis->size;
        if (devices > GROUPS_DEVICES_MAX)
            return cursor_fail(c, "a mesh of more than %d devices", GROUPS_DEVICES_MAX);
        if (!cursor_accept(c, ","))
            break;
    }
    mesh->devices = (int)devices;
    for (int a = mesh->axes - 1, step = 1; a >= 0; step *= (int)mesh->axis[a--].size)
        mesh->axis[a].step = step;
    return code < 0 ? code : cursor_expect(c, "]");
}

/* "([4,2]T(1,0))" or "(3,1,2,0)" */
static int read_devices(struct cursor *c, struct mesh_text *mesh)
{
    int code = cursor_expect(c, "("), members = 0;
    if (code == 0 && cursor_sees(c, "[")) {
        code = groups_parse_order(c, mesh->devices, &mesh->device, &members);
    } else if (code == 0) {
        if (!(mesh->device = malloc((size_t)mesh->devices * sizeof *mesh->device)))
            return status_nomem(c->st);
        for (; code == 0 && members < mesh->devices; members++) {
            int64_t device = 0;
            if (members == 0 || (code = cursor_expect(c, ",")) == 0)
                code = cursor_integer(c, "a device", 0, mesh->devices - 1, &device);
            mesh->device[members] = (int)device;
        }
    }
    return code < 0 ? code : cursor_expect(c, ")");
}

/* "'y'" or "'y':(2)2" */
static int read_part(struct cursor *c, struct mesh_text *mesh)
{
    char name[MESH_NAME];
    int64_t before = 1, size;
    int code = cursor_name(c, "an axis", name, sizeof name), a = 0;
    if (code < 0)
        return code;
    while (a < mesh->axes && strcmp(mesh->axis[a].name, name) != 0)
        a++;
    if (a == mesh->axes)
        return cursor_fail(c, "the mesh has no axis '%s'", name);
    size = mesh->axis[a].size;
    if (cursor_accept(c, ":") &&
        ((code = cursor_expect(c, "(")) < 0 ||
         (code = cursor_integer(c, "what varies slower", 1, size, &before)) < 0 ||
         (code = cursor_expect(c, ")")) < 0 || (code = cursor_integer(c, "a part", 1, size, &size)) < 0))
        return code;
    if (mesh->axis[a].size % (before * size) != 0)
        return cursor_fail(c, "a part of %lld after %lld does not divide the %lld of '%s'", (long long)size,
                           (long long)before, (long long)mesh->axis[a].size, name);
    if (mesh->parts == MESH_AXES)
        return cursor_fail(c, "more than %d axes in a group", MESH_AXES);
    int64_t after = mesh->axis[a].size / (before * size);
    mesh->part[mesh->parts++] = (struct mesh_axis){.size = size, .step = mesh->axis[a].step * after};
    return 0;
}

/* "{'x','y':(2)2}" */
static int read_parts(struct cursor *c, struct mesh_text *mesh)
{
    int code = cursor_expect(c, "{");
    if (code == 0 && cursor_accept(c, "}"))
        return 0;
    while (code == 0 && (code = read_part(c, mesh)) == 0)
        if (!cursor_accept(c, ","))
            break;
    return code < 0 ? code : cursor_expect(c, "}");
}

/* Positions that agree in all digits but those of the parts are a group. Its first has zeros there; `group` counts them
 * as they come. */
static int fill(struct cursor *c, const struct mesh_text *mesh, struct groups *groups)
{
    int64_t size = 1;
    for (int p = 0; p < mesh->parts && size <= mesh->devices; p++)
        size *= mesh->part[p].size;
    if (mesh->devices % size != 0)
        return cursor_fail(c, "the axes of a group overlap");
    int code = groups_init(groups, mesh->devices / (int)size, (int)size, c->st), found = 0;
    int *group = code == 0 ? malloc((size_t)mesh->devices * sizeof *group) : NULL;
    if (code == 0 && !group)
        code = status_nomem(c->st);
    if (group)
        memset(group, -1, (size_t)mesh->devices * sizeof *group);
    for (int at = 0; code == 0 && at < mesh->devices; at++) {
        int64_t first = at, place = 0;
        for (int p = 0; p < mesh->parts; p++) {
            int64_t digit = at / mesh->part[p].step % mesh->part[p].size;
            first -= digit * mesh->part[p].step;
            place = place * mesh->part[p].size + digit;
        }
        if (first == at && found < groups->count)
            group[at] = found++;
        if (first < 0 || group[first] < 0)
            code = cursor_fail(c, "the axes of a group overlap");
        else
            groups->member[group[first] * (int)size + (int)place] = mesh->device ? mesh->device[at] : at;
    }
    free(group);
    return code;
}

int groups_parse_mesh(struct cursor *c, int devices, struct groups *groups)
{
    struct mesh_text mesh = {0};
    int code = read_axes(c, &mesh);
    if (code == 0 && devices && mesh.devices != devices)
        code = cursor_fail(c, "a mesh of %d devices; there are %d", mesh.devices, devices);
    if (code == 0 && cursor_accept(c, ","))
        if ((code = cursor_expect(c, "device_ids")) == 0 && (code = cursor_expect(c, "=")) == 0)
            code = read_devices(c, &mesh);
    if (code == 0 && (code = read_parts(c, &mesh)) == 0)
        code = fill(c, &mesh, groups);
    free(mesh.device);
    return code;
}
