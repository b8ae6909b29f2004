/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * validate: simulation held against what is known without it: closed forms, the other engine, measurements and
 * worked problems that others have published.
 *
 * A check compares one number from the simulation with the number it should be. It is OK or OUT by its tolerance;
 * BEYOND where a rule is asked outside the range in which it claims to hold (the difference shows by how much it is
 * off there); FITTED where a measurement shaped the very profile that now meets it, so that agreement proves
 * nothing. Only OUT is a failure.
 *
 * Of measurements that the profile did not see, some differ from one that it saw in their size only: what is met there is
 * the line between two points (interpolated). Others are of another shape or schedule: what is met there is the model
 * (transferred), and that is what a prediction for a machine nobody has is worth.
 *
 * Units: seconds, fractions. Errors: status.h. Ownership: the caller's list, freed with checks_free().
 */
#ifndef ICISIM_VALIDATE_H
#define ICISIM_VALIDATE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/csv.h"
#include "base/embedded.h"
#include "base/status.h"
#include "machine/chip.h"

enum verdict { VERDICT_OK, VERDICT_OUT, VERDICT_BEYOND, VERDICT_FITTED, VERDICTS };

/* What is compared; a ratio is that of two counts, or 1 + a difference. */
enum check_unit { CHECK_SECONDS, CHECK_BYTES, CHECK_RATIO };

enum { CHECK_ID = 64, CHECK_TEXT = 200 };
struct check {
    const char *part;      /* "exact", "rule", "engines", "published", "median", "worked" */
    const char *kind;      /* of a measurement: "interpolated", "transferred"; else NULL */
    char id[CHECK_ID];     /* E3, F1, AG-v5e-4M: what the summary groups by, or names */
    char what[CHECK_TEXT]; /* the simulation as `icisim run` takes it, or what it is */
    char note[CHECK_TEXT]; /* for people; may be empty */
    enum check_unit unit;
    double simulated, expected;
    double tolerance_frac; /* of expected; NaN where nothing is judged */
    enum verdict verdict;
};

struct checks {
    int count, room;
    struct check *check;
};

void checks_free(struct checks *checks);

/* (simulated - expected) / expected; 0 where both are 0. */
double check_difference(const struct check *check);

/* Appends a check with its texts. Its verdict, unless it is another than OK already, follows from its tolerance; without one it
 * is BEYOND. */
int checks_add(struct checks *checks, struct check check, const char *id, const char *what, const char *note,
               struct status *st);

/* Appends the median of the absolute differences, in seconds, of all predictions (neither FITTED nor BEYOND) of a part and a kind as
 * a check of its own: 1 + median against 1. None of no predictions. `words` is what they are called. */
int checks_add_median(struct checks *checks, const struct check *of, const char *id, const char *words,
                      struct status *st);

/* The same of all checks of a part and a kind, however they are judged: their median, and what 95 of 100 are within, a check each. */
int checks_add_spread(struct checks *checks, const struct check *of, double median_frac, double most_frac,
                      struct status *st);

/* Adds checks: exact forms against the event engine and, if asked for, SimGrid; rules against the event engine; ... */
int validate_formulas(struct checks *checks, bool simgrid, struct status *st);
int validate_exact(struct checks *checks, bool simgrid,
                   struct status *st); /* of these the exact forms alone */
/* ... engine against engine, every op of every chip; ... */
int validate_engines(struct checks *checks, struct status *st);
/* ... published measurements on a profile, and worked problems on the spec profile; ... */
int validate_published(struct checks *checks, enum chip_profile profile, const char *file, struct status *st);
int validate_worked(struct checks *checks, struct status *st);
/* ... measured training steps, and products, copies and collectives. Files NULL: the ones compiled in from
 * analysis/published/. */
int validate_runs(struct checks *checks, enum chip_profile profile, const char *file, struct status *st);

/* What published steps like one were missed by, where what their chip was fitted to was left out: in words, and the median, of the
 * chip's own rows if there are three, else of all. NaN where no row is of the kind, "dense" or "mixtures of experts". */
int validate_typical_error(const char *chip, const char *kind, double *error_frac,
                           char text[static CHECK_TEXT], struct status *st);
/* ... and the rule for products inside steps against cycles that a compiler estimated. */
int validate_products(struct checks *checks, const char *file, struct status *st);

/* A file of analysis/published/, which is there. */
const struct embedded_file *published_file(const char *name);

/* Is a row among those that some value of the chip's profile was fitted on? */
bool is_fitted_on(const struct chip *chip, const char *id);

/* Number of checks that are OUT. */
int checks_out(const struct checks *checks);

/* Every check on a line, then the summary: by formula, largest and median difference. */
void checks_print(const struct checks *checks, FILE *out);
void checks_print_summary(const struct checks *checks, FILE *out);
void checks_write(const struct checks *checks, struct csv_writer *csv);

#endif
