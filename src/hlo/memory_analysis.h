/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * memory_analysis: how much memory a compiled program takes on a device, as XLA's memory_analysis() counts it.
 *
 *     HBM = arguments + outputs that share no argument's buffer + the largest sum of temporaries live at once
 *
 * Bytes are those of padded buffers (layout.h), lifetimes those of live_range.h; buffers in VMEM, CMEM or host memory
 * are not in HBM. XLA's peak_memory_in_bytes differs: to arguments and outputs, also those on the host, it adds the
 * temporaries of whichever of HBM, VMEM and CMEM has most of them, even where those take no HBM, and outside HBM it
 * counts a buffer twice while one value replaces another in place. Both figures are given. For 66 programs compiled by
 * libtpu 0.0.52, arguments are exact and the peak is within 0.01 %; the rest is some 512 B for constants.
 *
 * The module must be scheduled, as its order decides what is live at once. Not included: fragmentation, the program
 * itself, memory that the runtime reserves.
 *
 * Units: bytes. Errors: out of memory, calls too deep, source tables that cannot be read. Ownership: a plain value.
 */
#pragma once

#include "hlo/source.h"

enum { MEMORY_LARGEST = 5, MEMORY_NAME = 80 };
struct memory_buffer {
    double bytes;
    char name[MEMORY_NAME]; /* the instruction that defines its first value */
    char shape[MEMORY_NAME];
    char op_name[SOURCE_TEXT], source[SOURCE_TEXT]; /* of the first of its values that has a source line */
};
struct memory_analysis {
    double arguments_bytes, outputs_bytes, temporaries_bytes; /* in HBM */
    double vmem_bytes, cmem_bytes;                /* the most that temporaries take there at once */
    double host_bytes;                            /* arguments and outputs outside HBM */
    double peak_bytes;                            /* of HBM */
    double xla_peak_bytes;                        /* XLA's peak_memory_in_bytes */
    bool tiled;                                   /* some layout has tiles: it was compiled for a TPU */
    int buffers;                                  /* in `largest` */
    struct memory_buffer largest[MEMORY_LARGEST]; /* in HBM at its peak, with arguments; the largest first */
};

int memory_analyse(const struct module *module, struct memory_analysis *memory, struct status *st);
