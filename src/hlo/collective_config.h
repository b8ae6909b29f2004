/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * collective_config: the schedule of XLA:TPU for a collective (collective/config.h), read from the
 * backend_config of scheduled text.
 *
 * Units: none. Errors: none; a schedule that is not understood is not followed. Ownership: plain values.
 */
#pragma once

#include "collective/config.h"
#include "hlo/module.h"

/* The configuration of a collective: its own, or that of the fusion around it. */
bool collective_config_of(const struct module *module, int32_t collective, struct collective_config *config);
