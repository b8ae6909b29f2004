/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * settings: the values that were given for the options, on the command line and in a workload file, and the
 * grid of points that they span.
 *
 * An option of a point may have several values: a list (--ring uni,bidi), a range (--size 1MiB:1GiB:x4 goes
 * in factors of 4, 1us:4us:+1us in steps of 1us, the end included where it is hit), or the option repeated.
 * The grid is the product of them all. Points have indices from 0: the first option of the table that has
 * several values varies slowest, the last one fastest, and each runs through its values in the order given.
 * So an index names a point, today and on another machine.
 *
 * Units: values are text, as written. Errors: STATUS_INPUT, naming the option. Ownership: the caller's
 * struct, freed with settings_free(), which ends the points made from it too.
 */
#ifndef ICISIM_SETTINGS_H
#define ICISIM_SETTINGS_H

#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "settings/option.h"

enum { RANGE_MAX = 100000 }; /* values of one range */

struct setting {
    int count, room;
    char **text;
    char *place; /* "FILE:LINE:COLUMN" in the workload file that they are from; NULL: another source */
};

/* An option of the command line with its value, as written there; of a flag, whatever it is. */
struct argument {
    const struct option_row *option;
    char *text;
};

struct settings {
    struct setting of[OPTIONS_MAX]; /* by option_index() */
    char *file;                     /* workload file, or NULL */
    bool has_parts;                 /* that file is of parts (study/parts.h) */
    struct argument *argument;      /* of the command line, in its order, so that it can be written again */
    int arguments, argument_room;
    unsigned (*kind)(const char *op); /* what a text of --op is: a bit of enum op_set; set by who knows it */
    bool enumerated;                  /* slices were left open, and found */
    bool sorted;     /* of a program every way to lay its mesh: what is asked for is which is fastest */
    bool tied;       /* then slices and meshes go together: the first slice with the first mesh, and so on */
    bool tied_chips; /* and chips, of which several were named */
};

void settings_init(struct settings *settings);

/* What a text of --op is, enum op_set: ON_ANY where that is not known. */
unsigned settings_kind(const struct settings *settings, const char *op);

void settings_free(struct settings *settings);

/* Keeps an argument of the command line. settings_print_arguments() prints them, each after a blank and quoted for a shell, without
 * the options whose names are among the words of `without`: " --size 1MiB", and last what stands without an option. */
int settings_add_argument(struct settings *settings, const struct option_row *option, const char *text,
                          struct status *st);
void settings_print_arguments(const struct settings *settings, const char *without, FILE *out);

/* Was the option given on the command line? */
bool settings_has_argument(const struct settings *settings, const struct option_row *option);

/* Adds what was given for an option: a value, a list or a range. Every value is checked by itself. */
int settings_add(struct settings *settings, const struct option_row *option, const char *text,
                 struct status *st);

/* Adds the values of a workload file, a mapping from option names to values; what is set already stays. */
int settings_read(struct settings *settings, const char *path, struct status *st);

/* Puts the place in the workload file before a fault that begins with an option that is from there: "--root does not
 * apply" becomes "FILE:4:7: root does not apply". Returns its code. */
int settings_locate(const struct settings *settings, struct status *st);

/* Another model beside the one that was read: its file has to say the same of all options but those that the command line
 * gave. */
int settings_add_model(struct settings *settings, const char *path, struct status *st);

/* As if an option had not been given. */
void settings_drop(struct settings *settings, const char *name);

/* Fails at an option that was given and means nothing beside the others: --chunks without --all-reduce chunks. What
 * does not apply to what runs is found point by point (option_check()). */
int settings_check(const struct settings *settings, struct status *st);

/* Puts slices and meshes where some were left open: --chips 64 --slice all, --mesh "dp=?,tp=?" (places.h). */
int settings_enumerate(struct settings *settings, struct status *st);

/* Number of values given; the last one, or the option's fallback (NULL if it has none). */
int settings_count(const struct settings *settings, const char *name);
const char *settings_text(const struct settings *settings, const char *name);
bool settings_flag(const struct settings *settings, const char *name);
int settings_integer(const struct settings *settings, const char *name);

enum { GRID_POINTS_MAX = 10000000 };

struct grid {
    const struct settings *settings;
    int dims;                /* options with values, of points only, in the order of the table */
    int option[OPTIONS_MAX]; /* index of each dim's option */
    int count[OPTIONS_MAX];  /* of its values */
    int64_t points;          /* 1 and more */
    int led[2],
        leader; /* dims whose value is that of another: meshes and chips that go with slices; -1: none */
    struct point common; /* what all points have in common */
};

int grid_init(struct grid *grid, const struct settings *settings, struct status *st);

/* The point with an index. */
void grid_point(const struct grid *grid, int64_t index, struct point *point);

/* Which value of an option (by its place in the list) the point has; -1 if none was given. And the index of
 * the point that has another value of it but is the same otherwise. */
int grid_value(const struct grid *grid, int64_t index, const struct option_row *option);
int64_t grid_with(const struct grid *grid, int64_t index, const struct option_row *option, int value);

/* The value that the point has of an option, as it was given; NULL if none was. Is it idle, because others that the
 * point has leave it no meaning, as --chunks beside --all-reduce scatter-gather? */
const char *grid_text(const struct grid *grid, int64_t index, const struct option_row *option);
bool grid_is_idle(const struct grid *grid, int64_t index, const struct option_row *option);

/* Writes the values of what was given of the work, the machine and the schedule and has no column in results:
 * "routes=2 offset=1". */
char *grid_print_given(const struct grid *grid, int64_t index, char *text, size_t room);

/* What tells the point from the others in names of files: the values that vary, "uni-65536B"; of values that a file's name
 * should not have, their place in the list, "op1". */
enum { GRID_NAME = 160 };
char *grid_print_varied(const struct grid *grid, int64_t index, char *text, size_t room);

/* The arguments of icisim that make exactly this point, quoted for a shell: "run all-gather --slice 4x4 ...". The
 * caller frees it; NULL if memory is out. */
char *grid_command(const struct grid *grid, int64_t index);

/* Place of a value in the list that was given for an option, -1 if it is not there. */
int grid_find(const struct grid *grid, const struct option_row *option, const char *text);

#endif
