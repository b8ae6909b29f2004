/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * document: a YAML or JSON text as a tree of nodes, each of which knows where it stands.
 *
 * A node is a scalar (a text), a sequence of nodes or a mapping from names to nodes. Whoever reads a node
 * says what it must be, and a node that is something else fails with file:line:column, what is wrong and what
 * would be right. Anchors, aliases and merge keys (<<) are resolved: an alias is the node of its anchor, with
 * that one's place. Refused: a name that appears twice in a mapping, tags, several documents in one file,
 * nesting beyond DOCUMENT_DEPTH, more than DOCUMENT_VALUES values (those that merge keys bring included) or
 * DOCUMENT_BYTES bytes.
 *
 * Units: none; quantities are texts for units.h. Errors: STATUS_INPUT, STATUS_IO.
 * Ownership: nodes and their texts live until document_free(), safe on a zeroed document.
 */
#ifndef ICISIM_DOCUMENT_H
#define ICISIM_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/node.h"
#include "base/status.h"

enum { DOCUMENT_BYTES = 1 << 26 };

/* Is it the name of a file that document_load() takes for one of ours: .yaml, .yml or .json? */
bool document_is_path(const char *text);

/* Reads a file ("-" is stdin; a workload compiled in, where there is no such file) or a text; `name` stands in messages. JSON is
 * read as the YAML that it is, so escapes of surrogates (\ud83d\ude00) are refused. */
int document_load(struct document *document, const char *path, struct status *st);
int document_parse(struct document *document, const char *name, const char *text, size_t bytes,
                   struct status *st);

#endif
