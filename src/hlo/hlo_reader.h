/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to hlo/. */
/*
 * hlo_reader: shared state of the files that read HLO text: the lexer, the module being built, the names so
 * far.
 *
 * Units: none. Errors: STATUS_INPUT through the lexer's status. Ownership: hlo_read() sets it up and frees it.
 */
#pragma once

#include "base/lookup.h"
#include "hlo/hlo_lexer.h"
#include "hlo/module.h"

struct hlo_reader {
    struct hlo_lexer lexer;
    struct module *module;
    const char *trips;
    struct lookup instruction_names, computation_names;
    int64_t *number; /* a stack: the item being read is above its container */
    int32_t numbers, number_room;
    int32_t *place; /* [place_room] position of each instruction in the text */
    int32_t place_room;
    int64_t members; /* of all groups that were read, see MODULE_MEMBERS_MAX */
    int32_t root;    /* of the current computation, -1 until it is read */
};

int hlo_push(struct hlo_reader *reader, int64_t number);

/* A shape on the device, with its layout if there is one. */
int hlo_read_shape(struct hlo_reader *reader, int32_t *shape);
/* Reads the argument of a constant or a parameter, after its opening bracket up to the closing one, and adds
 * it to the instruction. */
int hlo_read_literal(struct hlo_reader *reader);
/* "key=value" of the instruction that was added last. */
int hlo_read_attribute(struct hlo_reader *reader);
int hlo_read_instruction(struct hlo_reader *reader);
/* Checks that need the whole module: devices, invariants, trip counts, collectives. */
int hlo_read_end(struct hlo_reader *reader);

/* The trip count of the while with this name, as given by option; -1 if there is none. */
int64_t hlo_given_trips(const struct hlo_reader *reader, struct span name);

/* An instruction of the current computation, or a computation, by name; -1 if there is none. */
int32_t hlo_find_instruction(const struct hlo_reader *reader, struct span name);
int32_t hlo_find_computation(const struct hlo_reader *reader, struct span name);
int hlo_name_computation(struct hlo_reader *reader, struct span name, int32_t computation);
