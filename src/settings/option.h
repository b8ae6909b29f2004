/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * option: the one table of all options that a user can set.
 *
 * A row is a flag of the command line, a key of a workload file, a line of --help and, if it belongs to a
 * point, a dimension of a sweep. So adding a row adds all of these. A row that belongs to a point names the
 * field that it fills; the values of other rows (files, -j) are read by name (settings.h).
 *
 * Units: every quantity is written with a unit (units.h). Errors: STATUS_INPUT, the text names the option.
 * Ownership: the table is constant; texts that a point gets are borrowed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "machine/schedule.h"
#include "settings/point.h"

enum option_kind {
    OPTION_TEXT,      /* const char * */
    OPTION_FLAG,      /* bool: "on" or "off"; without an argument it is on when given */
    OPTION_CHOICE,    /* int, by name */
    OPTION_COUNT,     /* int, 0 or above */
    OPTION_INTEGER,   /* int */
    OPTION_BYTES,     /* uint64_t, above 0 */
    OPTION_BANDWIDTH, /* double */
    OPTION_TIME,      /* double */
    OPTION_FRACTION,  /* double, above 0 and at most 1 */
};

/* Headings of --help, in this order. */
enum option_group { GROUP_WORK = 1, GROUP_MACHINE, GROUP_SCHEDULE, GROUP_ENGINE, GROUP_OUTPUT };
extern const char *const option_group_titles[GROUP_OUTPUT + 1];

/* Commands, as a set. */
enum command_set {
    FOR_RUN = 1 << 0,
    FOR_COMPARE = 1 << 1,
    FOR_SWEEP = 1 << 2,
    FOR_TOPOLOGY = 1 << 3,
    FOR_EVAL = 1 << 4,
    FOR_VALIDATE = 1 << 5,
    FOR_FIT = 1 << 6,
    FOR_LOWER = 1 << 7,
    FOR_MERGE = 1 << 8,
    FOR_IMPORT = 1 << 9,
    FOR_MEASURED = 1 << 10,
    FOR_TIMES = FOR_FIT | FOR_MEASURED,
    FOR_POINTS = FOR_RUN | FOR_COMPARE | FOR_SWEEP,
    FOR_MODELS = FOR_POINTS | FOR_LOWER | FOR_EVAL,
    FOR_SLICES = FOR_POINTS | FOR_TOPOLOGY | FOR_EVAL | FOR_LOWER,
    FOR_LIMITS = FOR_SLICES | FOR_TIMES,
};

/* Kinds of op, as a set: the collectives, the shifts and calls without a collective of eval, and the rest. */
enum op_set {
    ON_ALL_GATHER = 1 << COLLECTIVE_ALL_GATHER,
    ON_REDUCE_SCATTER = 1 << COLLECTIVE_REDUCE_SCATTER,
    ON_ALL_REDUCE = 1 << COLLECTIVE_ALL_REDUCE,
    ON_ALL_TO_ALL = 1 << COLLECTIVE_ALL_TO_ALL,
    ON_RAGGED = 1 << COLLECTIVE_RAGGED,
    ON_PERMUTE = 1 << COLLECTIVE_PERMUTE,
    ON_BROADCAST = 1 << COLLECTIVE_BROADCAST,
    ON_SHIFT = 1 << 16,
    ON_NONE = 1 << 17,
    ON_MATMUL = 1 << 18,
    ON_TEXT = 1 << 19,  /* HLO text */
    ON_MODEL = 1 << 20, /* the step of a model, from a workload file */
    ON_PARTS = 1 << 21, /* parts, each a model of its own, from a workload file */
    ON_MODULE = ON_TEXT | ON_MODEL,
    ON_PRODUCTS = ON_MATMUL | ON_MODULE | ON_PARTS,
    ON_RINGS = ON_ALL_GATHER | ON_REDUCE_SCATTER | ON_ALL_REDUCE | ON_BROADCAST,
    ON_COLLECTIVES = ON_RINGS | ON_ALL_TO_ALL | ON_RAGGED | ON_PERMUTE | ON_SHIFT,
    ON_ONE_MESH = ON_COLLECTIVES | ON_NONE | ON_MATMUL | ON_MODULE,
    ON_ANY = ON_ONE_MESH | ON_PARTS,
};

/* How an option is given several values. */
enum option_list {
    LIST_LAST,   /* one value; the last one given counts */
    LIST_REPEAT, /* the option is repeated, as its values have commas of their own: --axis x --axis y */
    LIST_COMMA,  /* the values are separated by commas, and the option may be repeated: --ring uni,bidi */
    LIST_JOIN,   /* the option is repeated, and all texts together are one value, separated by spaces */
};

enum { OPTION_NAME = 40, OPTION_NEEDS = 6, OPTION_EXCLUDES = 6 }; /* both lists end with NULL */
struct option_row {
    const char *name;     /* without dashes; also the key in workload files */
    int letter;           /* 'j' for -j, or 0 */
    const char *argument; /* name of the value in --help; NULL: a flag */
    const char *doc;
    const char *fallback; /* value when not given; NULL: none */
    const char *alone;    /* value if the option is given without one; NULL: a value is required */
    const char
        *values; /* possible words, for completion by shells; NULL: none, or too many. OPTION_CHOICE: all of
                 * them, in the order of the enum */
    const char *all; /* the list for which the value "all" stands; NULL: none */
    enum option_group group;
    unsigned commands; /* enum command_set */
    unsigned ops;      /* enum op_set: the ops it applies to; 0: any op, as for files and workers */
    enum option_kind kind;
    enum option_list list;
    int least, most; /* OPTION_COUNT: its bounds; most 0: none above */
    /* Conflicts. The option has no meaning unless needs[0] is given or, if values follow in `needs`, has one
     * of these values (its fallback counts); with `needs_ops` this only holds for those ops. It also has no
     * meaning if one of `excludes` is given. */
    const char *needs[OPTION_NEEDS];
    unsigned needs_ops;
    const char *excludes[OPTION_EXCLUDES];
    bool map;        /* names and values, X=2,Y=4; workload files may also write a mapping */
    bool writes;     /* the value is a file that is written; - is stdout */
    bool of_model;   /* the file of a model has a key of its own for it, which the option overrides */
    bool positional; /* an argument without dashes; the name is used in files and messages */
    bool of_point;   /* it fills a field of a point ... */
    size_t offset;   /* ... at this offset ... */
    bool has_column; /* ... and results have a column for it */
};

/* The table; the last dimension of a sweep's grid that has several values varies fastest. */
extern const struct option_row option_table[];
extern const int option_count;

/* A row by name, NULL if there is none. If several commands have different options of one name,
 * option_by_name() returns the first, and option_of_command() the one of a command. option_index() is the
 * row's place in the table. */
const struct option_row *option_by_name(const char *name);
const struct option_row *option_of_command(const char *name, unsigned command);
int option_index(const struct option_row *option);
/* Lists the names of options that are keys of workload files, too, in names[OPTIONS_MAX]; returns how many. */
int option_keys(const char *names[]);
bool option_is_given(const struct point *point, const char *name);

/* Checks a value and stores it in the point, unless the point is NULL or has no field for the option. */
int option_set(const struct option_row *option, const char *text, struct point *point, struct status *st);

/* Reads a quantity, in SI units. */
int option_number(const struct option_row *option, const char *text, double *number, struct status *st);

/* Fails at the first given option that does not apply to the op; `op` is its bit, `name` its name for
 * messages. */
int option_check(const struct point *point, enum op_set op, const char *name, struct status *st);

/* Initialises a point in which no option is given: every field has its fallback. */
void point_init(struct point *point);
