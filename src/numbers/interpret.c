/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/interpret.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers/frame.h"

int interpret_fail(const struct module *module, int32_t instruction, struct status *st, const char *format,
                   ...)
{
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return status_fail(st, STATUS_INPUT, "%s: %s", module_word(module, module_at(module, instruction)->name),
                       why);
}

int interpret_array(const struct module *module, int32_t shape, struct array *out, struct status *st)
{
    const struct shape *s = &module->shape[shape];
    *out = (struct array){0};
    if (s->dtype < 0)
        return status_fail(st, STATUS_INPUT, "a tuple or token where an array is needed");
    return array_init(out, s->count, module->number + s->first, dtype_is_whole((enum dtype_id)s->dtype), st);
}

/* Checks an argument against its parameter. */
static int check_argument(const struct module *module, int parameter, const struct array *argument,
                          struct status *st)
{
    const struct computation *c = &module->computation[module->entry];
    struct array wanted;
    char text[2][ARRAY_TEXT];
    for (int32_t at = c->first; at < c->first + c->count; at++) {
        if (module_at(module, at)->opcode != HLO_PARAMETER ||
            module_number(module, at, ATTR_PARAMETER_NUMBER, -1) != parameter)
            continue;
        if (interpret_array(module, module_at(module, at)->shape, &wanted, st) < 0)
            return st->code;
        bool same = array_same_shape(&wanted, argument);
        array_print_shape(&wanted, text[0]);
        array_free(&wanted);
        return same ? 0
                    : interpret_fail(module, at, st, "it is %s on a device, not %s", text[0],
                                     array_print_shape(argument, text[1]));
    }
    return status_fail(st, STATUS_INPUT, "the module has no parameter %d", parameter);
}

/* The arrays of the root, or of the parts of its tuple. */
static int take_results(struct value *const root[], struct interpretation *out, struct status *st)
{
    int n = out->devices, results = root[0]->parts < 0 ? 1 : root[0]->parts, code = 0;
    out->result = calloc((size_t)results * (size_t)n + 1, sizeof *out->result);
    if (!out->result)
        return status_nomem(st);
    out->results = results;
    for (int r = 0; r < results; r++)
        for (int d = 0; d < n && code == 0; d++) {
            const struct value *value = root[d]->parts < 0 ? root[d] : root[d]->part[r];
            code = array_copy(&value->array, &out->result[r * n + d], st);
        }
    return code;
}

int interpret(const struct module *module, const struct array argument[], int parameters,
              struct interpretation *out, struct status *st)
{
    int n = module->partitions * module->replicas, code = 0;
    size_t cells = (size_t)parameters * (size_t)n;
    *out = (struct interpretation){.devices = n};
    struct value **given = calloc(cells + (size_t)n + 1, sizeof *given), **root = given + cells;
    bool *active = malloc((size_t)n * sizeof *active);
    if (!given || !active)
        code = status_nomem(st);
    for (size_t i = 0; i < cells && code == 0; i++) {
        struct array copy;
        if ((code = check_argument(module, (int)(i / (size_t)n), &argument[i], st)) == 0 &&
            (code = array_copy(&argument[i], &copy, st)) == 0 && !(given[i] = value_of(&copy, st)))
            code = st->code;
    }
    if (code == 0) {
        memset(active, 1, (size_t)n * sizeof *active);
        struct frame outer = {.module = module, .devices = n, .st = st};
        code = frame_run(&outer, module->entry, active, given, parameters, root);
    }
    if (code == 0)
        code = take_results(root, out, st);
    for (size_t i = 0; given && i < cells + (size_t)n; i++)
        value_drop(given[i]);
    free(given);
    free(active);
    if (code < 0)
        interpretation_free(out);
    return code;
}

void interpretation_free(struct interpretation *interpretation)
{
    for (int i = 0; i < interpretation->results * interpretation->devices; i++)
        array_free(&interpretation->result[i]);
    free(interpretation->result);
    *interpretation = (struct interpretation){0};
}
