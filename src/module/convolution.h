/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * convolution: how much a convolution multiplies. TPU modules write matmuls as convolutions, so that this is where their
 * FLOPs are.
 *
 * Units: multiply-adds. Errors: STATUS_INPUT for a window or dim_labels that do not fit the shapes. Ownership: nothing.
 */
#ifndef ICISIM_CONVOLUTION_H
#define ICISIM_CONVOLUTION_H

#include "module/module.h"

/* Multiply-adds of a convolution: for each output those taps of the window that meet the input, not padding. */
int convolution_macs(const struct module *module, int32_t instruction, double *macs, struct status *st);

#endif
