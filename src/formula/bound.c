/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times that no schedule can beat: what must enter a chip, or cross a cut, or use links at all. */
#include "formula/shape.h"

/* Seconds that `bytes` need into the chip with the fewest links. */
static double into_chip_s(const struct formula_case *c, double bytes)
{
    return bytes / (c->least_ports * c->link_Bps);
}

/* Each of N contributions is sent at least once on its way into the sum, each of N results once on its way
 * out: 2(N-1)V bytes cross some link in every group. And a chip without the others' contributions must get V.
 */
static double all_reduce_s(const struct formula_case *c, double chips)
{
    double sends_bytes = c->groups * 2 * (chips - 1) * whole_bytes(c);
    double links_s = sends_bytes / (c->directed_links * c->link_Bps);
    return fmax(into_chip_s(c, whole_bytes(c)), links_s);
}

double formula_bound_s(const struct formula_case *c)
{
    double chips = (double)shape_of(c).chips, bytes = whole_bytes(c);
    bool permutes = c->op == COLLECTIVE_PERMUTE;
    if ((chips < 2 && !permutes) || c->least_ports < 1)
        return 0;
    if (op_gathers(c))
        return into_chip_s(c, bytes * (chips - 1) / chips);
    if (c->op == COLLECTIVE_ALL_REDUCE)
        return all_reduce_s(c, chips);
    if (c->op == COLLECTIVE_ALL_TO_ALL)
        return bytes / (chips * chips) * c->worst_cut_s_per_byte;
    if (c->op == COLLECTIVE_BROADCAST || permutes)
        return into_chip_s(c, bytes);
    return NAN;
}
