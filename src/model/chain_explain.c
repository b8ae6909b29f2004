/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A chain's module in words: from each product back through what its operands have gone through. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hlo/tally.h"
#include "model/chain.h"

struct words {
    const struct module *module;
    char *text;
    size_t used, room;
    bool begun; /* of this product */
};

static void say(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct words *w, const char *format, ...)
{
    if (w->used >= w->room)
        return;
    va_list arguments;
    va_start(arguments, format);
    w->used += (size_t)vsnprintf(w->text + w->used, w->room - w->used, format, arguments);
    va_end(arguments);
}

static enum opcode opcode_of(const struct words *w, int32_t at)
{
    return module_at(w->module, at)->opcode;
}

/* " columns", " dim 1"; of what has no dim "". */
static void say_dim(struct words *w, int32_t at)
{
    int64_t dim = module_number(w->module, at, ATTR_DIMENSIONS, -1);
    if (dim >= 0 && module_shape_of(w->module, at)->count == 2)
        say(w, dim ? " columns" : " rows");
    else if (dim >= 0)
        say(w, " dim %lld", (long long)dim);
}

/* One collective, or the own part: "all-gather left columns over Y". What only renames or reorders a value says nothing. */
static void say_move(struct words *w, int32_t at, const char *whose)
{
    char axes[TALLY_AXES];
    enum opcode opcode = opcode_of(w, at);
    bool moves = opcode_info(opcode)->class == CLASS_COLLECTIVE;
    if (!moves && opcode != HLO_DYNAMIC_SLICE)
        return;
    say(w, "%s%s", w->begun ? ", then " : "", moves ? opcode_info(opcode)->name : "take the own part of");
    w->begun = true;
    if (opcode != HLO_REDUCE_SCATTER && opcode != HLO_ALL_REDUCE) /* which only the output is */
        say(w, " %s", whose);
    if (!moves)
        return;
    say_dim(w, at);
    tally_axes(w->module, at, axes);
    if (*axes)
        say(w, strchr(axes, ',') ? " over (%s)" : " over %s", axes);
}

/* What a value has gone through since it was a parameter or a product: the oldest first. */
static void say_moves(struct words *w, int32_t at, const char *whose)
{
    enum opcode opcode = opcode_of(w, at);
    if (opcode == HLO_PARAMETER || opcode == HLO_DOT || module_at(w->module, at)->operands < 1)
        return;
    say_moves(w, module_operand(w->module, at, 0), whose);
    say_move(w, at, whose);
}

static void say_shape(struct words *w, int32_t at)
{
    const struct shape *shape = module_shape_of(w->module, at);
    for (int32_t d = 0; d < shape->count; d++)
        say(w, "%s%lld", d ? "x" : "", (long long)w->module->number[shape->first + d]);
}

char *chain_explain(const struct module *module, char *text, size_t room)
{
    struct words w = {.module = module, .text = text, .room = room};
    const struct computation *entry = &module->computation[module->entry];
    *text = '\0';
    for (int32_t at = entry->first; at < entry->first + entry->count; at++) {
        if (opcode_of(&w, at) != HLO_DOT)
            continue;
        if (w.used)
            say(&w, "; ");
        w.begun = false;
        say_moves(&w, module_operand(module, at, 0), "left");
        say_moves(&w, module_operand(module, at, 1), "right");
        say(&w, "%smultiply ", w.begun ? ", then " : "");
        say_shape(&w, module_operand(module, at, 0));
        say(&w, " . ");
        say_shape(&w, module_operand(module, at, 1));
        w.begun = true;
    }
    say_moves(&w, module_operand(module, entry->root, 0), "output");
    return text;
}
