/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * document: a YAML or JSON text as a tree of nodes, each of which knows its place in the file.
 *
 * A node is a scalar (a text), a sequence of nodes or a mapping from names to nodes. The caller that reads a
 * node names the type it expects; a node of another type fails with file:line:column, what is wrong and what
 * would be right. Anchors, aliases and merge keys (<<) are resolved: an alias is the very node of its anchor,
 * so its place is the anchor's. Refused: a name that appears twice in a mapping, tags, several documents in
 * one file, nesting beyond DOCUMENT_DEPTH, more than DOCUMENT_VALUES values (including those that merge keys
 * add) or DOCUMENT_BYTES bytes.
 *
 * Units: none; quantities are texts for units.h. Errors: STATUS_INPUT, STATUS_IO.
 * Ownership: nodes and their texts live until document_free(), safe on a zeroed document.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/node.h"

enum { DOCUMENT_BYTES = 1 << 26 };

/* Does a name end in .yaml, .yml or .json, so that it means a file and not a built-in name? */
bool document_is_path(const char *text);

/* Adds the compiled-in workloads with the nearest names to the message about a missing file. */
void document_suggest(const char *path, struct status *st);

/* Reads a file ("-" is stdin; if there is no such file, the compiled-in workload of that path) or a text;
 * `name` appears in messages. JSON is read as YAML, so escaped surrogates (\ud83d\ude00) are refused. */
int document_load(struct document *document, const char *path, struct status *st);
int document_parse(struct document *document, const char *name, const char *text, size_t bytes,
                   struct status *st);
