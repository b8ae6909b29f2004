/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "formula/step.h"

#include <math.h>

double step_alpha(double peak_flops, double link_Bps)
{
    return peak_flops / (2 * link_Bps);
}

double step_tokens_of_fsdp(double alpha, int axes)
{
    return alpha / axes;
}

double step_most_of_tp(double width, double alpha, int axes)
{
    return width * axes / alpha;
}

double step_best_fsdp(double tokens, double width, double chips, int axes, int tp_axes)
{
    return sqrt(tokens / width * axes / tp_axes * chips);
}

double step_tokens_of_both(double alpha, double width, int axes, int tp_axes, bool summed)
{
    return (summed ? 4 : 1) * alpha * alpha / (axes * tp_axes * width);
}
