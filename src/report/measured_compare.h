/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * measured_compare: compares measured times with simulated ones, the largest differences first, and shows how
 * a fit to the measured times would change them.
 *
 * Collectives are read and fitted as icisim fit does it (fitting.h), and each is simulated at its size. A
 * profile (XProf's hlo_stats as CSV) is compared instruction by instruction, for one step: the measured mean
 * time of an execution, times the number of executions in the simulated step. Start and done of an
 * asynchronous collective are added up: the time that the chip waited in both is its exposed time.
 *
 * Units: seconds, bytes. Errors: status.h. Ownership: the caller's struct, freed with measured_compare_free(), safe on a
 * zeroed one.
 */
#pragma once

#include <stdio.h>

#include "study/fitting.h"

struct measured_pair {
    char *what;     /* "all-gather --chip v5e --slice 4x4", the name of an instruction */
    const char *of; /* category of an instruction; "-" if the text does not have it */
    int line;       /* in the file */
    double size_bytes, measured_s, simulated_s, fitted_s; /* NaN: not known */
    double off; /* relative difference of both times; of instructions: difference in seconds */
};

struct measured_compare {
    struct fitting fitting; /* of collectives */
    int pairs;
    struct measured_pair *pair; /* worst first */
    bool of_module;
    double unit_s; /* unit of the times in the file */
};

/* Runs the comparison: --file holds times of collectives, or of the instructions of the text that is the
 * settings' op. */
int measured_compare_points(struct measured_compare *compare, const struct settings *settings,
                            struct status *st);
int measured_compare_module(struct measured_compare *compare, const struct settings *settings,
                            struct status *st);

/* Prints tables in lines of at most `width` characters (0: no limit), or writes rows as CSV. */
int measured_compare_print(const struct measured_compare *compare, int width, FILE *out, struct status *st);
void measured_compare_write(const struct measured_compare *compare, struct csv_writer *csv);
void measured_compare_free(struct measured_compare *compare);
