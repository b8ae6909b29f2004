/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * settings: the values given for the options, on the command line and in a workload file, and the grid of
 * points that they span.
 *
 * An option of a point may have several values: a list (--ring uni,bidi), a range (--size 1MiB:1GiB:x4 goes
 * in factors of 4, 1us:4us:+1us in steps of 1us; the end is included if a step hits it), or the option
 * repeated. The grid is the product of them all. Points have indices from 0: the first option of the table
 * that has several values varies slowest, the last one fastest, and each runs through its values in the order
 * given. So an index always names the same point, on any machine.
 *
 * Units: values are text, as written. Errors: STATUS_INPUT, naming the option. Ownership: the caller's
 * struct, freed with settings_free(); points made from it must not be used after that.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "notation/axes.h"
#include "settings/option.h"

enum { RANGE_MAX = 100000 }; /* values of one range */

struct setting {
    int count, room;
    char **text;
    char *place; /* "FILE:LINE:COLUMN" if the values come from a workload file; NULL: another source */
};

/* An option of the command line with its value, as written there; the text of a flag is not used. */
struct argument {
    const struct option_row *option;
    char *text;
};

struct settings {
    struct setting of[OPTIONS_MAX]; /* by option_index() */
    char *file;                     /* workload file, or NULL */
    bool has_parts;                 /* that file is of parts (study/parts.h) */
    char every_mesh[AXES_TEXT];     /* what --mesh all means: all meshes of a transformer */
    struct argument *argument;      /* of the command line, in order, so that it can be printed again */
    int arguments, argument_room;
    unsigned (*kind)(const char *op); /* kind of an op's text, as settings_kind(); set by a higher room */
    bool enumerated;                  /* open slices or meshes were replaced by lists */
    bool sorted;     /* all device assignments of a program's mesh: results are sorted by time */
    bool tied;       /* then slices and meshes go in pairs: the first slice with the first mesh, and so on */
    bool tied_chips; /* and so do chips, if several were named */
};

void settings_init(struct settings *settings);

/* The kind of an op's text, a bit of enum op_set; ON_ANY if it is not known. */
unsigned settings_kind(const struct settings *settings, const char *op);

void settings_free(struct settings *settings);

/* Keeps an argument of the command line. settings_print_arguments() prints all of them, each after a space
 * and quoted for a shell, " --size 1MiB", and arguments without an option last. Options whose names are among
 * the words of `without` are left out. */
int settings_add_argument(struct settings *settings, const struct option_row *option, const char *text,
                          struct status *st);
void settings_print_arguments(const struct settings *settings, const char *without, FILE *out);

/* Was the option given on the command line? */
bool settings_has_argument(const struct settings *settings, const struct option_row *option);

/* Adds the text given for an option: a value, a list or a range. Every value is checked by itself. */
int settings_add(struct settings *settings, const struct option_row *option, const char *text,
                 struct status *st);

/* Adds the values of a workload file, a mapping from option names to values; options that are set already
 * keep their values. */
int settings_read(struct settings *settings, const char *path, struct status *st);

/* If a message begins with an option whose value is from a workload file, puts its place there first: "--root
 * does not apply" becomes "FILE:4:7: root does not apply". Returns the fault's code. */
int settings_locate(const struct settings *settings, struct status *st);

/* Adds another model to the one that was read. Both files must give the same values for all options, except
 * those that the command line gives. */
int settings_add_model(struct settings *settings, const char *path, struct status *st);

/* Removes all values of an option. */
void settings_drop(struct settings *settings, const char *name);

/* Fails at a given option that has no meaning together with the others: --chunks without --all-reduce chunks.
 * Options that do not apply to an op are found point by point (option_check()). */
int settings_check(const struct settings *settings, struct status *st);

/* Replaces open slices and meshes by lists: --chips 64 --slice all, --mesh "dp=?,tp=?" (assignments.h). */
int settings_enumerate(struct settings *settings, struct status *st);

/* settings_count(): number of values given. settings_text(): the last value, or the option's fallback (NULL
 * if it has none); the other two read that as a flag and as an integer. */
int settings_count(const struct settings *settings, const char *name);
const char *settings_text(const struct settings *settings, const char *name);
bool settings_flag(const struct settings *settings, const char *name);
int settings_integer(const struct settings *settings, const char *name);

enum { GRID_POINTS_MAX = 10000000 };

struct grid {
    const struct settings *settings;
    int dims;                /* options of points that have values, in the order of the table */
    int option[OPTIONS_MAX]; /* index of each dim's option */
    int count[OPTIONS_MAX];  /* number of its values */
    int64_t points;          /* at least 1 */
    int led[2], leader;  /* dims `led` take the index of dim `leader`: meshes and chips of slices; -1: none */
    struct point common; /* the values that all points have in common */
};

int grid_init(struct grid *grid, const struct settings *settings, struct status *st);

/* The point with an index. */
void grid_point(const struct grid *grid, int64_t index, struct point *point);

/* grid_value(): index of the point's value in the list of an option; -1 if the option was not given.
 * grid_with(): index of the point that has another value of the option but is otherwise the same. */
int grid_value(const struct grid *grid, int64_t index, const struct option_row *option);
int64_t grid_with(const struct grid *grid, int64_t index, const struct option_row *option, int value);

/* grid_text(): the point's value of an option, as it was given; NULL if it was not. grid_is_idle():
 * has the option no meaning because of the point's other options, such as --chunks with --all-reduce
 * scatter-gather? */
const char *grid_text(const struct grid *grid, int64_t index, const struct option_row *option);
bool grid_is_idle(const struct grid *grid, int64_t index, const struct option_row *option);

/* Writes the given options that describe the simulation (not the engine) and have no column in results:
 * "routes=2 offset=1". */
char *grid_print_given(const struct grid *grid, int64_t index, char *text, size_t room);

/* A part of a file name that distinguishes the point from the others: the values that vary, "uni-65536B". A
 * value that is not fit for a file name is replaced by its index in the list, "op1". */
enum { GRID_NAME = 160 };
char *grid_print_varied(const struct grid *grid, int64_t index, char *text, size_t room);

/* The arguments of icisim that make exactly this point, quoted for a shell: "run all-gather --slice 4x4 ...".
 * The caller frees the text; NULL if memory runs out. */
char *grid_command(const struct grid *grid, int64_t index);

/* Index of a value in the list given for an option; -1 if it is not in the list. */
int grid_find(const struct grid *grid, const struct option_row *option, const char *text);
