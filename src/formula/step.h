/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * step: the book's rules for training steps ("How to Scale Your Model", training): when a layer's products take longer than
 * what it communicates.
 *
 *   alpha = peak / W, operations a byte, W = 2w both ways of one axis' links; B tokens on all N chips, F the width of an MLP
 *   whose weights fsdp shares out over X chips on M_X axes, and tp cuts over Y = N / X chips on M_Y axes
 *
 *   S1  data parallel or FSDP alone    B / N > alpha / M_X
 *   S2  tensor parallel alone          Y < M_Y F / alpha
 *   S3  both: least communication at   X = sqrt(B / F x M_X / M_Y x N)
 *   S4  both, each behind products     B / N > alpha^2 / (M_X M_Y F)
 *   S4s both, their sum behind them    four times that
 *
 * The book's text of 2025 has S4s where it means communication of both one after the other; where gathers of weights and of
 * activations run at the same time on axes of their own, S4 holds.
 *
 * Units: operations a byte, tokens a chip, chips. Errors: none. Ownership: plain numbers.
 */
#ifndef ICISIM_STEP_H
#define ICISIM_STEP_H

#include <math.h>
#include <stdbool.h>

static inline double step_alpha(double peak_flops, double link_Bps)
{
    return peak_flops / (2 * link_Bps);
}
/* S1 */
static inline double step_tokens_of_fsdp(double alpha, int axes)
{
    return alpha / axes;
}
/* S2 */
static inline double step_most_of_tp(double width, double alpha, int axes)
{
    return width * axes / alpha;
}
/* S3 */
static inline double step_best_fsdp(double tokens, double width, double chips, int axes, int tp_axes)
{
    return sqrt(tokens / width * axes / tp_axes * chips);
}
/* S4, S4s */
static inline double step_tokens_of_both(double alpha, double width, int axes, int tp_axes, bool summed)
{
    return (summed ? 4 : 1) * alpha * alpha / (axes * tp_axes * width);
}

#endif
