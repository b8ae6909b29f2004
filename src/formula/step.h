/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * step: the rules for training steps of the book "How to Scale Your Model" (chapter on training): when a
 * layer's matmuls take longer than its communication.
 *
 *   alpha = peak / W in operations per byte; W = 2w, the bandwidth of a link of one axis in both directions;
 *   B tokens on all N chips; F the width of an MLP whose weights are sharded by fsdp over X chips on M_X
 *   axes, and by tp over Y = N / X chips on M_Y axes
 *
 *   S1  data parallel or FSDP alone    B / N > alpha / M_X
 *   S2  tensor parallel alone          Y < M_Y F / alpha
 *   S3  both: least communication at   X = sqrt(B / F x M_X / M_Y x N)
 *   S4  both, each behind products     B / N > alpha^2 / (M_X M_Y F)
 *   S4s both, their sum behind them    four times that
 *
 * The book's text of 2025 gives S4s, for the communication of both one after the other; if the gathers of
 * weights and of activations run at the same time, each on its own axes, S4 holds.
 *
 * Units: operations per byte, tokens per chip, chips. Errors: none. Ownership: plain numbers.
 */
#pragma once

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
