/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * source: the origin of an instruction in the user's program: op_name and source line.
 *
 * Compiled text has metadata={op_name="jit(step)/while/body/dot_general" stack_frame_id=8}, and tables at the
 * top, one row per line, counted from 1:
 *
 *     FileNames       1 "llama/layers.py"
 *     FunctionNames   1 "attention"
 *     FileLocations   1 {file_name_id=1 function_name_id=1 line=20 end_line=20 column=32 end_column=41}
 *     StackFrames     8 {file_location_id=1 parent_frame_id=8}
 *
 * A frame is the innermost one, its line that of the operation itself. Older text has source_file="..." source_line=20 in the
 * metadata. The module keeps the tables as they are written (module.h).
 *
 * Units: lines from 1. Errors: out of memory; unknown texts are "". Ownership: the caller's struct, freed
 * with sources_free(), safe when zeroed; it points into the module.
 */
#pragma once

#include "hlo/module.h"

enum source_table { SOURCE_FILES, SOURCE_FUNCTIONS, SOURCE_LOCATIONS, SOURCE_FRAMES, SOURCE_TABLES };
/* The table of a word such as "FileNames"; SOURCE_TABLES if there is none. */
enum source_table source_table_of(const char *word, int length);

struct sources {
    const struct module *module;
    struct source_rows {
        const char **row; /* [rows] the text after the number of each row */
        int32_t rows, room;
    } table[SOURCE_TABLES];
};

enum { SOURCE_TEXT = 160 };
int sources_init(struct sources *sources, const struct module *module, struct status *st);
void sources_free(struct sources *sources);
/* "llama/layers.py:20" of an instruction, cut at its start if it is too long. Returns `text`. */
char *source_line(const struct sources *sources, int32_t instruction, char text[static SOURCE_TEXT]);
/* "jit(step)/while/body/dot_general". Returns `text`. */
char *source_op_name(const struct module *module, int32_t instruction, char text[static SOURCE_TEXT]);
