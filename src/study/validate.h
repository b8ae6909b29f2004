/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * validate: compares simulation with closed forms, with the other engine, and with published measurements and worked
 * problems.
 *
 * A check compares one number from the simulation with the number it should be. It is OK or OUT by its tolerance;
 * BEYOND where a rule is used outside the range in which it claims to hold (the difference shows how far it is off
 * there); FITTED where the profile was fitted on the measurement, so that agreement proves nothing. Only OUT is a
 * failure.
 *
 * Measurements that the profile was not fitted on are of two kinds. Interpolated: it was fitted on one that differs
 * only in size, so the check is of a line between two points. Transferred: shape or schedule are different, so the
 * check is of the model, and shows what a prediction for another machine is worth.
 *
 * Units: seconds, fractions. Errors: status.h. Ownership: the caller's list, freed with checks_free().
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/csv.h"
#include "base/embedded.h"
#include "machine/chip.h"

enum verdict { VERDICT_OK, VERDICT_OUT, VERDICT_BEYOND, VERDICT_FITTED, VERDICTS };

/* What is compared; a ratio is one of two counts, or 1 + a difference. */
enum check_unit { CHECK_SECONDS, CHECK_BYTES, CHECK_RATIO };

enum { CHECK_ID = 64, CHECK_TEXT = 200 };
struct check {
    const char *part;      /* "exact", "rule", "engines", "published", "median", "worked" */
    const char *kind;      /* of a measurement: "interpolated", "transferred"; else NULL */
    char id[CHECK_ID];     /* E3, F1, AG-v5e-4M: the summary groups by it */
    char what[CHECK_TEXT]; /* the simulation, as arguments of `icisim run` or in words */
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

/* Appends a check with its texts. If its verdict is OK, the tolerance decides: OK, OUT, or BEYOND if that is NaN. */
int checks_add(struct checks *checks, struct check check, const char *id, const char *what, const char *note,
               struct status *st);

/* Appends the median of the absolute differences of all predictions (neither FITTED nor BEYOND) in seconds that have
 * the part and the kind of `of`, as a check: 1 + median against 1. Appends nothing if there are none. `words` names
 * them. */
int checks_add_median(struct checks *checks, const struct check *of, const char *id, const char *words,
                      struct status *st);

/* The same as two checks: of the median, and of the difference that 95 of 100 are within. */
int checks_add_spread(struct checks *checks, const struct check *of, double median_frac, double most_frac,
                      struct status *st);

/* Adds checks: exact forms against the event engine and, if asked for, SimGrid; rules against the event engine; ... */
int validate_formulas(struct checks *checks, bool simgrid, struct status *st);
int validate_exact(struct checks *checks, bool simgrid, struct status *st); /* only the exact forms */
/* ... engine against engine, every op of every chip; ... */
int validate_engines(struct checks *checks, struct status *st);
/* ... published measurements on a profile, and worked problems on the spec profile; ... */
int validate_published(struct checks *checks, enum chip_profile profile, const char *file, struct status *st);
int validate_worked(struct checks *checks, struct status *st);
/* ... measured training steps, matmuls, copies and collectives; ... Files NULL: those compiled in from
 * analysis/published/. */
int validate_runs(struct checks *checks, enum chip_profile profile, const char *file, struct status *st);
/* ... and the rule for matmuls inside steps against cycles that a compiler estimated. */
int validate_products(struct checks *checks, const char *file, struct status *st);

/* The median error of predictions of published steps of a kind, "dense" or "mixtures of experts", made without what
 * their chip was fitted to; in words, too. It is of the chip's own rows if there are three or more, else of all; NaN
 * if there are none. */
int validate_typical_error(const char *chip, const char *kind, double *error_frac,
                           char text[static CHECK_TEXT], struct status *st);

/* A file of analysis/published/, which must exist. */
const struct embedded_file *published_file(const char *name);

/* Was some value of the chip's profile fitted on the row with this id? */
bool is_fitted_on(const struct chip *chip, const char *id);

/* Number of checks that are OUT. */
int checks_out(const struct checks *checks);

/* Prints a line for every check; and the summary: the largest and the median difference by formula. */
void checks_print(const struct checks *checks, FILE *out);
void checks_print_summary(const struct checks *checks, FILE *out);
void checks_write(const struct checks *checks, struct csv_writer *csv);
