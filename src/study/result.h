/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * result: the result of one simulated point, and the table of columns that prints it.
 *
 * A result is plain memory without pointers, so that a worker can hand it through a pipe; a text that is too
 * long for it ends in "...". Values that do not apply are "", NaN or negative, and empty in a CSV file. Its
 * columns stand in columns.c, once: the name in CSV files and the meaning, and how tables for people print
 * it. CSV files have them in that order, later ones are appended, none is ever moved; tables have them in the
 * order of their places.
 *
 * Units: SI, the unit in every column's name. Errors: none. Ownership: a plain value.
 */
#ifndef ICISIM_RESULT_H
#define ICISIM_RESULT_H

#include <stddef.h>
#include <stdint.h>

#include "base/csv.h"
#include "base/text.h"
#include "machine/slice.h"
#include "notation/axes.h"
#include "program/fold.h"

/* The prefix of the status of a point whose input was valid, but whose simulation failed. */
#define RESULT_FAILED "failed: "
#define RESULT_KILLED                                                                                        \
    "killed by signal" /* is in the status of a point whose processes were, which may do another time */

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
    double time_low_s, time_high_s; /* with a tolerance: time_s is the middle */
    double time_s, formula_exact_s, formula_rule_s, bound_s;
    double algbw_Bps, busbw_Bps;
    double max_link_frac, mean_link_frac, link_bytes;
    int64_t transfers;
    int64_t steps;
    double compute_s, comm_s, exposed_comm_s, overlap_frac;
    double speedup; /* over uni, or of matmuls over naive, if that was run at the same point */
    char status
        [RESULT_STATUS]; /* "ok", or why there are no numbers; RESULT_FAILED where the input was not wrong */
    double max_link_bytes;
    char varied[RESULT_LINE]; /* options that were given and have no column of their own: "routes=2" */
    char profile[RESULT_WORD];
    double memory_bytes, mfu_frac, tokens_per_s; /* of the step of a model */
    char remat[RESULT_WORD];                     /* pass_remat_name() */
    char memory_fit[RESULT_ID];                  /* memory_fit_name() */
    double usd_per_Mtoken;                       /* with --price-per-chip-hour */
    double typical_error_frac;                   /* validate_typical_error(); NaN on the spec profile */
    double mfu_half_frac, mfu_full_frac;         /* with attention counted half, and in full */
    char spent[RESULT_LINE];        /* of a model's step: seconds from the peak to what it takes */
    double least_s;                 /* what it is estimated to take at least, by a search (faces/search.h) */
    char exposed_axes[RESULT_LINE]; /* of a module: seconds exposed over mesh axes: "tp=0.0123 fsdp=3e-06" */
    char offered[RESULT_ID];        /* "yes" or "no": does the chip's cloud offer the slice */
    char parts
        [RESULT_LINE]; /* of a workload of parts: seconds of each by itself: "a=0.001 a>b=2e-05 b=0.002" */
    char busy[RESULT_LINE];  /* the same, of the time of a batch: how much it is at work */
    char rings[RESULT_LINE]; /* "dp on x, tp on y*z as axes"; "" where the mesh is the slice */

    char algorithm[RESULT_LINE]; /* of a collective that XLA's choice, or a search, decides: what it is */

    char
        compute_from[RESULT_LINE /
                     4]; /* what the time of computes rests on: "estimate 71%, bytes 29%"; "" of a roofline */
    char product_bound[RESULT_WORDS]; /* what binds the products: "HBM 72%, MXU 28%"; "" without any */

    /* For tables, not in the CSV */
    char typical_error[RESULT_LINE];
    char defaults
        [2 *
         RESULT_WORDS]; /* of a model's step: "prefetch=0 head=on", of those that decide its time, unless given */
    char exact_id[RESULT_ID], rule_id[RESULT_ID]; /* E3, F2 */
    double engines_off_frac;                      /* with engine both: how far its two are apart (trace.h) */
    char fold[FOLD_TEXT];                         /* "1 of 4096" chips simulated; "" if not folded */
    char devices[RESULT_LINE];  /* of HLO text: where its devices are; "" where that was asked for */
    char schedule[RESULT_LINE]; /* of a workload of parts: who works on what, in order */
    char rerouted[RESULT_LINE]; /* what dead links change; "" if none is dead */
    char warning[RESULT_LINE];  /* a sentence: what cannot work although it was timed; "" */
    char edges[RESULT_LINE];    /* what neighbours cost that are not side by side; "" if all are */
    char plan[RESULT_LINE];     /* of a matmul: "on each chip: all-gather left columns over Y, then ..." */
    char reference_option[RESULT_WORD]; /* its speed-up compares with the point whose "ring" ... */
    char reference[RESULT_WORD];        /* ... is "uni"; "" if with none */
    int code;                           /* enum status_code */
    bool rough;                         /* the time is above the job's limit_s, and no more is known of it */
};

/* A text of a result, made one line. NULL is "". */
#define RESULT_PUT(field, text) text_one_line((text) ? (text) : "", field, sizeof field)

/* Nothing known yet. */
void result_init(struct result *result);

/* Sets the speed-up over a time of the same point; leaves it empty if either has no time. */
void result_compare(struct result *result, double reference_s);

enum column_kind {
    COLUMN_TEXT,
    COLUMN_REAL,
    COLUMN_COUNT,   /* int64_t; negative: none */
    COLUMN_BYTES,   /* uint64_t; 0: none */
    COLUMN_COMMAND, /* set by the caller when a row is written */
    COLUMN_OFF,     /* relative difference of time_s from this field */
};

/* Which tables have a column, if some row has a value for it. A text that is the same in all rows is no column but stands in the line above. */
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
    int place; /* they rise from left to right; 0: in CSV files only */
    enum column_when when;
    const char *heading, *unit;
    double scale; /* from SI units */
    int decimals;
    int spare;          /* whether it gives way where a table would be too wide, as in struct table_column */
    const char *common; /* COLUMN_TEXT: how it reads in the line above; %s is the text */
};
extern const struct column columns[];
extern const int column_count;

/* A column's number in a result, in SI units; NaN if there is none. Not for texts. */
double column_value(const struct column *column, const struct result *result);
const char *column_text(const struct column *column, const struct result *result);

void columns_write_names(struct csv_writer *csv);
void columns_write(struct csv_writer *csv, const struct result *result, const char *command);

#endif
