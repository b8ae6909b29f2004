/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to hlo/. */
/*
 * hlo_reader: what the files that read HLO text share: the lexer, the module that is built, names seen so far.
 *
 * Units: none. Errors: STATUS_INPUT through the lexer's status. Ownership: hlo_read() sets it up and frees it.
 */
#ifndef ICISIM_HLO_READER_H
#define ICISIM_HLO_READER_H

#include "base/lookup.h"
#include "hlo/hlo_lexer.h"
#include "hlo/module.h"

struct hlo_reader {
    struct hlo_lexer lexer;
    struct module *module;
    const char *trips;
    struct lookup instruction_names, computation_names;
    int64_t *number; /* a stack: what is being read is on top of what it belongs to */
    int32_t numbers, number_room;
    int32_t *place; /* [place_room] where each instruction stands in the text */
    int32_t place_room;
    int64_t members; /* of all groups that were read, see MODULE_MEMBERS_MAX */
    int32_t root;    /* of the computation that is read, -1 as long as there was none */
};

int hlo_push(struct hlo_reader *reader, int64_t number);

/* A shape on the device, with its layout if there is one. */
int hlo_read_shape(struct hlo_reader *reader, int32_t *shape);
/* After the bracket that opens the argument of a constant or a parameter: adds it to the instruction, up to the bracket
 * that closes it. */
int hlo_read_literal(struct hlo_reader *reader);
/* "key=value" of the instruction that was added last. */
int hlo_read_attribute(struct hlo_reader *reader);
int hlo_read_instruction(struct hlo_reader *reader);
/* The header, computations, and what stands around them. */
int hlo_read_module(struct hlo_reader *reader);
/* What only the whole module can tell: devices, invariants, trip counts, collectives. */
int hlo_read_end(struct hlo_reader *reader);

/* How often the while of a name runs, as given beside the text; -1 if it is not given. */
int64_t hlo_given_trips(const struct hlo_reader *reader, struct span name);

/* Instruction of the computation that is read, and computation, by name; -1 if there is none. */
int32_t hlo_find_instruction(const struct hlo_reader *reader, struct span name);
int32_t hlo_find_computation(const struct hlo_reader *reader, struct span name);
int hlo_name_computation(struct hlo_reader *reader, struct span name, int32_t computation);

#endif
