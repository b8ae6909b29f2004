/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to hlo/. */
/*
 * window: convolutions as HLO writes them: window={size=3x3 stride=2x2 pad=1_1x0_0 lhs_dilate=2x2 rhs_dilate=1x1} and
 * dim_labels=b01f_01io->b01f, which name batch, features and spatial dims of both operands and the result.
 *
 * Units: operations. Errors: STATUS_INPUT for a window or labels that do not fit the shapes. Ownership: none.
 */
#pragma once

#include "hlo/module.h"

/* 2 x batch x output features x input features of a group x, for every spatial dim, the (output, tap) pairs that meet an
 * element of the input: taps that fall on padding or between dilated elements multiply nothing. 0 after an error. */
int window_convolution_flops(const struct module *module, int32_t instruction, double *flops,
                             struct status *st);
