/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two ends of a case, and the definition between them. */
#include <stdlib.h>
#include <string.h>

#include "numbers/cases.h"
#include "numbers/definition.h"
#include "numbers/shard.h"

/* Replicas that a program summed in different orders may differ in their last digits. */
static const double replica_tolerance = 1e-9;

void case_free_blocks(struct array *block, int devices)
{
    for (int i = 0; block && i < devices; i++)
        array_free(&block[i]);
    free(block);
}

/* pmap: block i is input[i], without the dim. */
static int unstack(const struct array *input, int devices, struct array block[], struct status *st)
{
    memset(block, 0, (size_t)devices * sizeof *block);
    if (input->dims == 0 || input->shape[0] != devices) {
        char shape[ARRAY_TEXT];
        return status_fail(st, STATUS_INPUT, "pmap over %d devices needs an input whose dim 0 is %d, not %s",
                           devices, devices, array_print_shape(input, shape));
    }
    int code = 0;
    for (int i = 0; i < devices && code == 0; i++) {
        code = array_slice(input, 0, i, i + 1, &block[i], st);
        if (code == 0)
            code = array_squeeze(&block[i], 0, st);
    }
    for (int i = 0; code < 0 && i < devices; i++)
        array_free(&block[i]);
    return code;
}

static int apply_local(const struct local *local, int devices, struct array block[], struct status *st)
{
    int code = 0;
    for (int i = 0; i < devices && code == 0; i++) {
        struct array changed;
        if ((code = local_apply(local, &block[i], &changed, st)) == 0) {
            array_free(&block[i]);
            block[i] = changed;
        }
    }
    for (int i = 0; code < 0 && i < devices; i++)
        array_free(&block[i]);
    return code;
}

int case_blocks(const struct example *example, struct array block[], struct status *st)
{
    int devices = axes_devices(&example->axes);
    int code = example->pmap ? unstack(&example->input, devices, block, st)
                             : spec_shard(&example->in_spec, &example->axes, &example->input, block, st);
    return code < 0 ? code : apply_local(&example->local, devices, block, st);
}

int case_result(const struct example *example, const struct array block[], struct array *result,
                struct status *st)
{
    *result = (struct array){0};
    if (example->pmap)
        return array_stack(axes_devices(&example->axes), block, 0, result, st);
    int code = spec_check_replicas(&example->out_spec, &example->axes, block, replica_tolerance, st);
    return code < 0 ? code : spec_assemble(&example->out_spec, &example->axes, block, result, st);
}

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
