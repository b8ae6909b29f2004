/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * configuration: a model's sizes under the names of other projects, in mappings from YAML or JSON with
 * precedence, and the names read so far, so that the others can be listed.
 *
 * Units: none. Errors: STATUS_INPUT, STATUS_NOMEM.
 * Ownership: nodes and texts are the documents', which outlive the configuration; configuration_free() is safe on a zeroed one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/document.h"

enum { CONFIGURATION_FILES = 4, CONFIGURATION_ROOTS = 2 * CONFIGURATION_FILES };

struct configuration {
    const struct node *root[CONFIGURATION_ROOTS]; /* mappings, the one that takes precedence first */
    bool *read[CONFIGURATION_ROOTS];              /* of each, [count]: names that have been read */
    int roots, source;                            /* source: for its user */
};

/* Adds a mapping, with precedence over the earlier ones; its text_config takes precedence over itself. At
 * most CONFIGURATION_FILES are added. */
int configuration_add(struct configuration *config, const struct node *node, struct status *st);
void configuration_free(struct configuration *config);

/* The node of a name, which then counts as read; NULL if no mapping has it. */
const struct node *configuration_node(const struct configuration *config, const char *name);
/* Its text; NULL if it is missing, null, or no scalar. */
const char *configuration_text(const struct configuration *config, const char *name);
/* A whole number, such as 32_000; 0 if the text is none. */
int64_t configuration_number(const char *text);
int64_t configuration_whole(const struct configuration *config, const char *name, int64_t fallback);
bool configuration_is(const struct configuration *config, const char *name); /* true, or True */

/* The number of experts of a layer that has them, 1 if no layer has. Are there layers without experts? Are
 * keys and values made of latents? */
int64_t configuration_experts(const struct configuration *config);
bool configuration_is_mixed(const struct configuration *config);
bool configuration_has_latents(const struct configuration *config);
/* Prints the workload keys for layers other than plain attention and one feed-forward part of width ff: mla,
 * qk-norm, sinks, bias, window, moe. */
void configuration_print_layers(const struct configuration *config, int64_t ff, FILE *out);

/* Prints the names that have not been read, as YAML comments. */
void configuration_print_unread(const struct configuration *config, FILE *out);
