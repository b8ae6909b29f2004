/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the mesh along whose axes a module's groups lie. Device ids number a mesh row by row, so the group of device 0
 * is a box whose ids are sums of strides. An axis of n devices, `stride` ids apart, has cuts at stride and at n *
 * stride; every cut divides the next, and each two neighbouring cuts enclose an axis:
 *
 *     {{0,4,8,12},{1,5,...},...} of 16 devices: cuts 4 and 16; with {{0,1},{2,3},...}: 1 and 2, too: axes of 4, 2 and 2
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "hlo/module.h"

enum { CUTS = 32 };
struct cuts {
    int count;
    int64_t at[CUTS]; /* rising, from 1 to the number of devices; each divides the next */
};

/* Adds a cut unless it is there already. False: it does not divide, or is not divided by, its neighbours. */
static bool add_cut(struct cuts *cuts, int64_t cut)
{
    int i = 0;
    while (i < cuts->count - 1 && cuts->at[i] < cut)
        i++;
    if (cuts->at[i] == cut)
        return true;
    if (cuts->count == CUTS || cut % cuts->at[i - 1] || cuts->at[i] % cut)
        return false;
    memmove(&cuts->at[i + 1], &cuts->at[i], (size_t)(cuts->count - i) * sizeof *cuts->at);
    cuts->at[i] = cut;
    cuts->count++;
    return true;
}

/* Adds the cuts of a set of devices with device 0, marked in part[devices]. A set that is not a box of a mesh with the
 * present cuts adds none. `id` is scratch, [devices]. */
static void add_set(struct cuts *cuts, const char part[], int id[], int devices)
{
    struct cuts with = *cuts;
    int n = 0, size = 1;
    for (int d = 0; d < devices; d++)
        if (part[d])
            id[n++] = d;
    while (size < n) {
        int stride = id[size], end = size;
        while (end < n && id[end] == end / size * stride + id[end % size])
            end++;
        if (end % size || n % end || !add_cut(&with, stride) ||
            !add_cut(&with, (int64_t)stride * (end / size)))
            return;
        size = end;
    }
    *cuts = with;
}

/* Marks the group of device 0. */
static void mark_group(const struct groups *groups, char part[])
{
    for (int g = 0; g < groups->count; g++) {
        const int *member = groups->member + (size_t)g * (size_t)groups->size;
        bool found = false;
        for (int m = 0; m < groups->size; m++)
            found |= member[m] == 0;
        for (int m = 0; m < groups->size && found; m++)
            part[member[m]] = 1;
    }
}

/* Marks the devices that device 0 reaches by going from source to target, or back. `next` is scratch, [devices]. */
static void mark_chain(const struct groups *pairs, bool back, int next[], int devices, char part[])
{
    for (int d = 0; d < devices; d++)
        next[d] = -1;
    for (int p = 0; p < pairs->count; p++)
        next[pairs->member[2 * p + back]] = pairs->member[2 * p + !back];
    part[0] = 1;
    for (int d = next[0]; d >= 0 && !part[d]; d = next[d])
        part[d] = 1;
}

static int add_instruction(const struct module *module, int32_t instruction, bool pairs, struct cuts *cuts,
                           struct status *st)
{
    int devices = module->partitions * module->replicas;
    struct groups groups = {0};
    char *part = calloc((size_t)devices, 1);
    int *id = malloc((size_t)devices * sizeof *id);
    int code = part && id ? module_groups_of(module, instruction, &groups, st) : status_nomem(st);
    if (code == 0) {
        for (int back = 0; back < 2 && pairs; back++)
            mark_chain(&groups, back, id, devices, part);
        if (!pairs)
            mark_group(&groups, part);
        add_set(cuts, part, id, devices);
    }
    groups_free(&groups);
    free(part);
    free(id);
    return code;
}

int module_mesh(const struct module *module, struct axes *axes, struct status *st)
{
    struct cuts cuts = {.count = 2, .at = {1, module->partitions * module->replicas}};
    char text[AXES_TEXT] = "";
    int code = 0;
    for (int pairs = 0; pairs < 2; pairs++) /* groups first, as pairs need not follow a mesh */
        for (int32_t i = 0; i < module->instructions && code == 0; i++) {
            enum opcode whole = opcode_info(module->instruction[i].opcode)->whole;
            if (opcode_communicates(module->instruction[i].opcode) &&
                (whole == HLO_COLLECTIVE_PERMUTE) == (pairs > 0) && cuts.at[cuts.count - 1] > 1)
                code = add_instruction(module, i, pairs > 0, &cuts, st);
        }
    for (int c = cuts.count - 1; c > 0; c--)
        text_add(text, sizeof text, "%sm%d=%d", *text ? "," : "", cuts.count - 1 - c,
                 (int)(cuts.at[c] / cuts.at[c - 1]));
    return code < 0 ? code : axes_parse(text, axes, st);
}
