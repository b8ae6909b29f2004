/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "metrics/names.h"

#include <string.h>

char *names_op(const struct program *program, int32_t op, char text[static NAMES_OP])
{
    int32_t stage = program->op[op].stage;
    snprintf(text, NAMES_OP, "%s[%d]", stage < program->stages ? program->stage[stage].name : "op",
             program->op[op].step);
    return text;
}

char *names_way(const struct program *program, int32_t op, int chip, char text[static NAMES_WAY])
{
    struct route route = op_route(program, &program->op[op], chip);
    size_t n = 0;
    text[0] = '\0';
    for (int32_t h = 0; h < route.hops && n + 5 < NAMES_WAY; h++) {
        struct hop hop = program->hop[route.first + h];
        bool minus = hop.delta < 0 && program->slice->span[hop.axis] != 2;
        if (hop.delta != 0)
            n += (size_t)snprintf(text + n, NAMES_WAY - n, "%s%c%c", n ? " " : "", slice_axis_name(hop.axis),
                                  minus ? '-' : '+');
    }
    return text;
}

char *names_op_way(const struct program *program, int32_t op, int chip, char text[static NAMES_OP_WAY])
{
    char way[NAMES_WAY] = "";
    names_op(program, op, text);
    if (program->op[op].kind == OP_SEND && *names_way(program, op, chip, way)) {
        size_t n = strlen(text);
        snprintf(text + n, NAMES_OP_WAY - n, " %s", way);
    }
    return text;
}

int names_links(const struct program *program, int32_t op, int chip)
{
    struct route route = op_route(program, &program->op[op], chip);
    return route_length(program->hop + route.first, route.hops);
}
