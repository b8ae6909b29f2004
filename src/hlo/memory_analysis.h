/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * memory_analysis: what a compiled program takes of a device's memory, as XLA's memory_analysis() counts it.
 *
 *     HBM = arguments + outputs that have no argument's buffer + the largest sum of temporaries that live at once
 *
 * Bytes are those of padded buffers (layout.h), from and to when they live is said in live_range.h; what lies in VMEM, CMEM or
 * on the host is not in HBM. XLA's peak_memory_in_bytes adds to arguments and outputs the temporaries of the memory that has
 * most of them, HBM or VMEM: of a decode step whose temporaries all fit VMEM these, which take no HBM; and arguments and outputs on the host. It counts those of VMEM
 * value by value, two while one becomes the other in place. Both figures are here. Of 66 programs compiled by libtpu 0.0.52
 * arguments are exact and the peak is within 0.01 %: what is left is some 512 B for constants.
 *
 * The text has to be scheduled: what order it has else says nothing. Fragmentation is not in it, nor the program itself and
 * what the runtime holds back.
 *
 * Units: bytes. Errors: status.h. Ownership: a plain value.
 */
#ifndef ICISIM_MEMORY_ANALYSIS_H
#define ICISIM_MEMORY_ANALYSIS_H

#include "hlo/source.h"

enum { MEMORY_LARGEST = 5, MEMORY_NAME = 80 };
struct memory_buffer {
    double bytes;
    char name[MEMORY_NAME]; /* the instruction that makes it first */
    char shape[MEMORY_NAME];
    char op_name[SOURCE_TEXT], source[SOURCE_TEXT]; /* of the first that has a source line */
};
struct memory_analysis {
    double arguments_bytes, outputs_bytes, temporaries_bytes; /* in HBM */
    double vmem_bytes, cmem_bytes, host_bytes; /* at most at once; arguments and outputs on the host */
    double peak_bytes;                         /* of HBM */
    double xla_peak_bytes;                     /* peak_memory_in_bytes */
    bool tiled;                                /* some layout has tiles: it was compiled for a TPU */
    int buffers;
    struct memory_buffer
        largest[MEMORY_LARGEST]; /* of what is in HBM at its peak, arguments too, the largest first */
};

int memory_analyse(const struct module *module, struct memory_analysis *memory, struct status *st);

#endif
