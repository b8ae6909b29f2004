/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "case_define.h"

#include <stdlib.h>

#include "numbers/definition.h"

int case_define(const struct example *example, struct array *result, struct status *st)
{
    int devices = axes_devices(&example->axes);
    struct groups groups = {0};
    struct array *in = calloc((size_t)devices, sizeof *in), *out = calloc((size_t)devices, sizeof *out);
    *result = (struct array){0};
    int code = in && out ? 0 : status_nomem(st);
    if (code == 0 && (code = case_blocks(example, in, st)) == 0 &&
        (code = call_groups(&example->call, &example->axes, &groups, st)) == 0 &&
        (code = definition_apply(&example->call, &groups, in, out, st)) == 0)
        code = case_result(example, out, result, st);
    groups_free(&groups);
    case_free_blocks(in, devices);
    case_free_blocks(out, devices);
    return code;
}
