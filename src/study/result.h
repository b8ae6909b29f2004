/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * result: the result of one simulated point, and the table of columns that prints it.
 *
 * A result is plain memory without pointers, so that a worker can send it through a pipe; a text that is too
 * long ends in "...". Values that do not apply are "", NaN or negative, and empty in CSV files. columns.c has
 * one row per column: its name in CSV files, its meaning, and how tables print it. CSV files have the columns
 * in the order of these rows: new ones are appended, none is ever moved. Tables sort them by `place`.
 *
 * Units: SI, the unit in every column's name. Errors: none. Ownership: a plain value.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/csv.h"
#include "base/text.h"
#include "notation/axes.h"
#include "program/fold.h"

/* The prefix of the status of a point whose input was valid, but whose simulation failed. */
#define RESULT_FAILED "failed: "
/* In the status of a point whose process was killed; it may succeed another time. */
#define RESULT_KILLED "killed by signal"

enum { RESULT_WORD = 24, RESULT_WORDS = 48, RESULT_LINE = 512, RESULT_STATUS = 656, RESULT_ID = 8 };

struct result {
    char op[RESULT_LINE]; /* XLA's name, or the matmul */
    char chip[RESULT_LINE];
    char slice[SLICE_TEXT], wrap[SLICE_TEXT];
    char mesh[AXES_TEXT], axes[RESULT_LINE];
    char ring[RESULT_WORD], strategy[RESULT_WORD], gather[RESULT_WORD], engine[RESULT_WORD],
        dtype[RESULT_WORD];
    uint64_t size_bytes; /* 0: none */
    int64_t chips;       /* of the slice */
    double overlapped_s;
    double time_low_s, time_high_s; /* with --tolerance: time_s is the middle */
    double time_s, formula_exact_s, formula_rule_s, bound_s;
    double algbw_Bps, busbw_Bps;
    double max_link_frac, mean_link_frac, link_bytes;
    int64_t transfers;
    int64_t steps;
    double compute_s, comm_s, exposed_comm_s, overlap_frac;
    double speedup;             /* over `reference`, if that was run at the same point */
    char status[RESULT_STATUS]; /* "ok", or why there are no numbers */
    double max_link_bytes;
    char varied[RESULT_LINE]; /* options that were given and have no column of their own: "routes=2" */
    char profile[RESULT_WORD];
    double memory_bytes, mfu_frac, tokens_per_s; /* of a model's step */
    char remat[RESULT_WORD];                     /* pass_remat_name() */
    char memory_fit[RESULT_ID];                  /* memory_fit_name() */
    double usd_per_Mtoken;                       /* with --price-per-chip-hour */
    double typical_error_frac;                   /* validate_typical_error(); NaN on the spec profile */
    double mfu_half_frac, mfu_full_frac;         /* with attention counted half, and in full */
    char spent[RESULT_LINE]; /* of a model's step: the breakdown of its time (time_breakdown.h) */
    double left_out_frac;    /* of the time: how layers differ, for all that are left out; NaN: they repeat */
    double least_s;          /* a search's estimate of the least time (faces/search.h) */
    char exposed_axes[RESULT_LINE]; /* of a module: seconds exposed over mesh axes: "tp=0.0123 fsdp=3e-06" */
    char offered[RESULT_ID];        /* "yes" or "no": the chip's cloud offers the slice */
    char parts[RESULT_LINE];        /* of parts: the seconds of each alone: "a=0.001 a>b=2e-05 b=0.002" */
    char busy[RESULT_LINE];         /* of parts: the fraction of a batch's time in which each works */
    char rings[RESULT_LINE];        /* "dp on x, tp on y*z as axes"; "" where the mesh is the slice */

    char algorithm[RESULT_LINE]; /* of a collective: what XLA's choice, or a search, has decided */

    /* Sources of compute times: "estimate 71%, bytes 29%"; "": a roofline. */
    char compute_from[RESULT_LINE / 4];
    char product_bound[RESULT_WORDS]; /* what bounds matmuls: "HBM 72%, MXU 28%"; "" if there are none */

    /* For tables, not in the CSV */
    char typical_error[RESULT_LINE];
    char defaults
        [2 *
         RESULT_WORDS]; /* of a model's step: "prefetch=0 head=on", of those that decide its time, unless given */
    char exact_id[RESULT_ID], rule_id[RESULT_ID]; /* E3, F2 */
    double engines_off_frac; /* with engine both: the difference between the two (trace.h) */
    char fold
        [FOLD_TEXT]; /* "1 of 4096" chips simulated, "1 of 4096 endless": nearly alike; "" if not folded */
    char devices[RESULT_LINE];  /* of HLO text: where its devices are; "" if an option says so */
    char schedule[RESULT_LINE]; /* of parts: the order in which they work on batches */
    char rerouted[RESULT_LINE]; /* what dead links change; "" if none is dead */
    char warning[RESULT_LINE];  /* a sentence: why it would not run on real chips; "" */
    char edges[RESULT_LINE];    /* the cost of ring steps that are longer than a hop; "" if there are none */
    char plan[RESULT_LINE];     /* of a matmul: "on each chip: all-gather left columns over Y, then ..." */
    /* The speed-up compares with the point whose option of this name, "ring", has this value, "uni"; "": none. */
    char reference_option[RESULT_WORD], reference[RESULT_WORD];
    int code;   /* enum status_code */
    bool rough; /* time_s is only known to be above the job's limit_s */
};

/* Copies a text to a field of a result, as one line. NULL is "". */
#define RESULT_PUT(field, text) text_one_line((text) ? (text) : "", field, sizeof field)

/* A result with no values yet. */
void result_init(struct result *result);

/* Sets the speed-up over the reference's time; leaves it empty if either time is not known. */
void result_compare(struct result *result, double reference_s);

enum column_kind {
    COLUMN_TEXT,
    COLUMN_REAL,
    COLUMN_COUNT,   /* int64_t; negative: none */
    COLUMN_BYTES,   /* uint64_t; 0: none */
    COLUMN_COMMAND, /* set by the caller when a row is written */
    COLUMN_OFF,     /* relative difference of time_s from this field */
};

/* The tables that have a column, provided that some row has a value. A text that is the same in all rows is printed in
 * the line above the table instead. */
enum column_when {
    WHEN_ALWAYS,
    WHEN_SIZED,
    WHEN_UNSIZED,
    WHEN_COMPUTES,
    WHEN_COMPARED,
    WHEN_KNOWN, /* also where the text is the same in all rows */
    WHEN_VARIED,
    WHEN_SEARCHED /* of a search for meshes */
};

struct column {
    const char *name;    /* in CSV files; NULL: in tables only */
    const char *meaning; /* one line */
    enum column_kind kind;
    size_t offset; /* in struct result */

    /* In tables */
    int place; /* ascending from left to right; 0: in CSV files only */
    enum column_when when;
    const char *heading, *unit;
    double scale; /* from SI units */
    int decimals;
    int spare;          /* whether it is left out of a table that is too wide, as in struct table_column */
    const char *common; /* COLUMN_TEXT: how it reads in the line above; %s is the text */
};
extern const struct column columns[];
extern const int column_count;

/* The number of a column in a result, in SI units; NaN if it has none. Not for texts. */
double column_value(const struct column *column, const struct result *result);
const char *column_text(const struct column *column, const struct result *result);

void columns_write_names(struct csv_writer *csv);
void columns_write(struct csv_writer *csv, const struct result *result, const char *command);
