/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * collective_config: how XLA:TPU carries out a collective (collective/config.h), as its scheduled text says in the backend_config.
 *
 * Units: none. Errors: none; what is not understood is not followed. Ownership: plain values.
 */
#ifndef ICISIM_HLO_COLLECTIVE_CONFIG_H
#define ICISIM_HLO_COLLECTIVE_CONFIG_H

#include "collective/config.h"
#include "hlo/module.h"

/* Reads a backend_config. False if it says nothing of a collective. */
bool collective_config_read(const char *text, struct collective_config *config);

/* What is said of a collective: by itself, or by the fusion that it stands in. */
bool collective_config_of(const struct module *module, int32_t collective, struct collective_config *config);

#endif
