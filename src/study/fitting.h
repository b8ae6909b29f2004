/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of `icisim fit`: measurements in groups that differ in size only, a line through each group, one
 * machine for all groups of a chip; printed, written as CSV and as a chip profile.
 */
#pragma once

#include <stdio.h>

#include "settings/measured.h"
#include "study/fit.h"

/* Measurements of one collective on one slice, all sizes. */
struct fitting_group {
    char *name; /* "all-gather --chip v5e --slice 8x16 --axis y" */
    int first;  /* index of the first row: its settings, without the size, make the name */
    int points;
    bool fitted;
    struct fit_line line;
    char reason[240]; /* why it was not fitted */
};

struct fitting_row {
    struct measured_row *measured;
    int group;
    struct fit_parameter line; /* fitted time and its 95 % interval; NaN if its group was not fitted */
    bool outlier;
    bool has_case;
    struct formula_case formula; /* on the spec profile */
    double machine_s;            /* by the machine of its chip; NaN if there is none */
};

/* One chip: all rows with a collective and a slice of this chip, and a closed form. */
struct fitting_chip {
    const char *name;
    int points, left_out; /* outliers, in a robust fit */
    bool fitted;
    struct fit_machine machine;
    double nominal_Bps; /* of a link, by the data sheet; NaN: unknown */
    char reason[240];
};

struct fitting {
    const char *file;
    struct measured measured;
    int rows, groups, chips;
    struct fitting_row *row;
    struct fitting_group *group;
    struct fitting_chip *chip;
};

/* Groups the rows that meet all of `where` ("column=value") and fits the groups and chips that can be fitted.
 * */
int fitting_init(struct fitting *fitting, const struct settings *settings, struct status *st);
/* Fails with the reason if nothing was fitted. */
int fitting_check(const struct fitting *fitting, struct status *st);
void fitting_free(struct fitting *fitting);

/* Is the row one of those that the machine of the chip was fitted to? */
bool fitting_is_of(const struct fitting_row *row, const struct fitting_chip *chip);

/* Prints the fits; `size`s are the sizes to predict. Also prints the rows left out because they lack a time
 * or a size. */
void fitting_print(const struct fitting *fitting, const uint64_t size_bytes[], int sizes);
void fitting_print_dropped(const struct fitting *fitting, FILE *out);
void fitting_write(const struct fitting *fitting, struct csv_writer *csv, const uint64_t size_bytes[],
                   int sizes);

/* A chip file with a measured profile, of the one chip that was fitted. Fails if none or several were. */
int fitting_write_profile(const struct fitting *fitting, FILE *out, struct status *st);
