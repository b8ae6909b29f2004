/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * measured_compare: what somebody has measured beside what is simulated, what differs most first, and what a fit to the
 * measured times would change.
 *
 * Collectives are read and fitted as icisim fit does it (fitting.h), and each is simulated at its size. Of a program that was
 * profiled, XProf's hlo_stats as CSV, each instruction stands beside the one that is simulated, for one step: the measured
 * mean of an execution times how often the simulated step executes it. The two halves of an asynchronous collective are one:
 * what the chip waited for both is what is exposed of it.
 *
 * Units: seconds, bytes. Errors: status.h. Ownership: the caller's struct, freed with measured_compare_free(), safe on a
 * zeroed one.
 */
#ifndef ICISIM_MEASURED_COMPARE_H
#define ICISIM_MEASURED_COMPARE_H

#include <stdio.h>

#include "study/fitting.h"

struct measured_pair {
    char *what;     /* "all-gather --chip v5e --slice 4x4", the name of an instruction */
    const char *of; /* of an instruction: its category; "-" of one that the text does not have */
    int line;       /* in the file */
    double size_bytes, measured_s, simulated_s, fitted_s; /* NaN: not known */
    double off; /* by how much simulated and measured time differ: a share; of instructions seconds */
};

struct measured_compare {
    struct fitting fitting; /* of collectives */
    int pairs;
    struct measured_pair *pair; /* worst first */
    bool of_module;
    double unit_s; /* of its times in the file */
};

/* --file holds times of collectives; or of the instructions of the text that is the settings' op. */
int measured_compare_points(struct measured_compare *compare, const struct settings *settings,
                            struct status *st);
int measured_compare_module(struct measured_compare *compare, const struct settings *settings,
                            struct status *st);

/* Tables, lines of at most `width` characters (0: any); rows as CSV. */
int measured_compare_print(const struct measured_compare *compare, int width, FILE *out, struct status *st);
void measured_compare_write(const struct measured_compare *compare, struct csv_writer *csv);
void measured_compare_free(struct measured_compare *compare);

#endif
