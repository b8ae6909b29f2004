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

char *names_route(const struct program *program, int32_t op, int chip, char text[static NAMES_ROUTE])
{
    struct route route = op_route(program, &program->op[op], chip);
    size_t n = 0;
    text[0] = '\0';
    for (int32_t h = 0; h < route.hops && n + 5 < NAMES_ROUTE; h++) {
        struct hop hop = program->hop[route.first + h];
        bool minus = hop.delta < 0 && program->slice->span[hop.axis] != 2;
        if (hop.delta != 0)
            n += (size_t)snprintf(text + n, NAMES_ROUTE - n, "%s%c%c", n ? " " : "",
                                  slice_axis_name(hop.axis), minus ? '-' : '+');
    }
    return text;
}

char *names_op_route(const struct program *program, int32_t op, int chip, char text[static NAMES_OP_ROUTE])
{
    char direction[NAMES_ROUTE] = "";
    names_op(program, op, text);
    if (program->op[op].kind == OP_SEND && *names_route(program, op, chip, direction)) {
        size_t n = strlen(text);
        snprintf(text + n, NAMES_OP_ROUTE - n, " %s", direction);
    }
    return text;
}

int names_links(const struct program *program, int32_t op, int chip)
{
    struct route route = op_route(program, &program->op[op], chip);
    return route_length(program->hop + route.first, route.hops);
}
