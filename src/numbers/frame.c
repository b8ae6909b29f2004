/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/frame.h"

#include <stdarg.h>
#include <stdio.h>

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
