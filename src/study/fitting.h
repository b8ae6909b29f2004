/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of `icisim fit`: measurements in groups that differ in size only, a line through each group, one machine
 * that explains all groups of a chip; printed, written as CSV and as a chip profile.
 */
#ifndef FITTING_H
#define FITTING_H

#include <stdio.h>

#include "settings/measured.h"
#include "study/fit.h"

/* Measurements of one collective on one slice, all sizes. */
struct fitting_group {
    char *name; /* "all-gather --chip v5e --slice 8x16 --axis y" */
    int first;  /* index of the first row: the name is its settings' without the size */
    int points;
    bool fitted;
    struct fit_line line;
    char reason[240]; /* why not, if not fitted */
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

/* One chip: all rows that say which collective, on which slice of it, and have a closed form. */
struct fitting_chip {
    const char *name;
    int points, left_out; /* outliers, in a robust fit */
    bool fitted;
    struct fit_machine machine;
    double nominal_Bps; /* of a link, by the data sheet; NaN: not known */
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

/* Groups the rows that meet all of `where` ("column=value") and fits what can be fitted. */
int fitting_init(struct fitting *fitting, const struct settings *settings, struct status *st);
/* Fails with the reason if nothing was fitted. */
int fitting_check(const struct fitting *fitting, struct status *st);
void fitting_free(struct fitting *fitting);

/* Is the row among those that a machine of the chip explains? */
bool fitting_is_of(const struct fitting_row *row, const struct fitting_chip *chip);

/* For people; `size`s are what to predict. And the rows that were left out as they have no time or no size. */
void fitting_print(const struct fitting *fitting, const uint64_t size_bytes[], int sizes);
void fitting_print_dropped(const struct fitting *fitting, FILE *out);
void fitting_write(const struct fitting *fitting, struct csv_writer *csv, const uint64_t size_bytes[],
                   int sizes);

/* A chip file with a measured profile, of the one chip that was fitted. Fails where none or several were. */
int fitting_write_profile(const struct fitting *fitting, FILE *out, struct status *st);

#endif
