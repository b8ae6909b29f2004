/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "settings/option.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "collective/collective.h"
#include "engine/engine.h"
#include "fabric/chip.h"
#include "matmul/matmul.h"

static int choice(const char *what, const char *name, const char *const names[], struct status *st)
{
    int index = text_index(name, names);
    return index >= 0 ? index : text_unknown(what, name, names, st);
}

static int profile_by_name(const char *name, struct status *st)
{
    return choice("profile", name, chip_profile_names, st);
}

static int engine_index(const char *name, struct status *st)
{
    enum { MOST = 8 };
    const char *names[MOST + 2] = {"auto"};
    int n = 1;
    for (const struct engine *const *e = engine_list(); *e && n <= MOST; e++)
        names[n++] = (*e)->name;
    int index = choice("engine", name, names, st);
    return index == 0 ? CHOICE_OPEN : index - 1;
}

#define FIELD(member) .of_point = true, .offset = offsetof(struct point, member)
#define SHOWN(member) FIELD(member), .has_column = true
#define NO_FIELD      .of_point = false

/* Order matters: it is that of a sweep's rows. --help sorts each group by name. */
const struct option_row option_table[] = {
    {"op", 0, "OP", "what runs: a collective, or a matmul in JAX's sharding notation", NULL, GROUP_WORK,
     FOR_POINTS | FOR_EVAL, OPTION_TEXT, LIST_REPEAT, .positional = true, SHOWN(op)},

    {"chip", 0, "NAME", "chip: v2, v3, v4, v5p, v5e, v6e, v7x, or a chip file", "v5e", GROUP_MACHINE,
     FOR_SLICES | FOR_FIT, OPTION_TEXT, LIST_COMMA, SHOWN(chip)},
    {"profile", 0, "NAME", "numbers of the chip: spec (the book's) or measured", "spec", GROUP_MACHINE,
     FOR_SLICES | FOR_VALIDATE, OPTION_CHOICE, LIST_COMMA, FIELD(profile), .by_name = profile_by_name},
    {"slice", 0, "SHAPE", "chips of the slice: 16, 4x4 or 4x4x8; default: the mesh's shape", NULL,
     GROUP_MACHINE, FOR_SLICES | FOR_FIT, OPTION_TEXT, LIST_COMMA, SHOWN(slice)},
    {"wrap", 0, "AXES", "axes whose ends are joined: all, none or x,z; default: as the chip is built", NULL,
     GROUP_MACHINE, FOR_SLICES | FOR_FIT, OPTION_TEXT, LIST_REPEAT, SHOWN(wrap)},
    {"mesh", 0, "AXES", "logical axes on the slice: dp=4,tp=2 or X=x*y; default: the physical axes", NULL,
     GROUP_MACHINE, FOR_SLICES | FOR_FIT, OPTION_TEXT, LIST_REPEAT, SHOWN(mesh)},
    {"link-bandwidth", 0, "45GBps", "one-way bandwidth of a link; default: the chip's", NULL, GROUP_MACHINE,
     FOR_SLICES, OPTION_BANDWIDTH, LIST_COMMA, FIELD(link_Bps)},
    {"hop-latency", 0, "1us", "latency of a link; default: the chip's", NULL, GROUP_MACHINE, FOR_SLICES,
     OPTION_TIME, LIST_COMMA, FIELD(hop_latency_s)},

    {"peak", 0, "RATES", "matmul rates by dtype: int32=19.17Tflops; default: the chip's", NULL, GROUP_MACHINE,
     FOR_POINTS, OPTION_TEXT, LIST_REPEAT, FIELD(peak)},
    {"matmul-efficiency", 0, "0.9", "share of the peak that matmuls reach; default: the chip's", NULL,
     GROUP_MACHINE, FOR_POINTS, OPTION_FRACTION, LIST_COMMA, FIELD(matmul_efficiency)},
    {"launch-overhead", 0, "2us", "of every matmul op; default: the chip's", NULL, GROUP_MACHINE, FOR_POINTS,
     OPTION_TIME, LIST_COMMA, FIELD(launch_overhead_s)},
    {"mxu-padding", 0, NULL, "matmul dims count as whole MXU tiles", "off", GROUP_MACHINE, FOR_POINTS,
     OPTION_FLAG, LIST_LAST, FIELD(mxu_padding)},
    {"dims", 0, "SIZES", "matmul: sizes of dims that have names, B=1024,D=2048", NULL, GROUP_WORK, FOR_POINTS,
     OPTION_TEXT, LIST_REPEAT, FIELD(dims)},

    {"axis", 0, "AXES", "mesh axes that a collective runs over: x, or x,y at once; default: all", NULL,
     GROUP_WORK, FOR_SLICES | FOR_FIT, OPTION_TEXT, LIST_REPEAT, SHOWN(axis)},
    {"groups", 0, "GROUPS", "replica groups instead of axes: {{0,1},{2,3}} or [2,4]<=[8]", NULL, GROUP_WORK,
     FOR_POINTS | FOR_EVAL, OPTION_TEXT, LIST_REPEAT, SHOWN(groups)},
    {"pairs", 0, "PAIRS", "collective-permute: who sends to whom, 0-1,1-0 in mesh order", NULL, GROUP_WORK,
     FOR_POINTS, OPTION_TEXT, LIST_REPEAT, FIELD(pairs)},
    {"pair-sizes", 0, "FILE", "ragged-all-to-all: CSV with from,to,size_bytes, or random:SEED", NULL,
     GROUP_WORK, FOR_POINTS, OPTION_TEXT, LIST_REPEAT, FIELD(pair_sizes)},
    {"offset", 0, "N", "collective-permute without pairs: shift by so many positions", "1", GROUP_WORK,
     FOR_POINTS | FOR_EVAL, OPTION_INTEGER, LIST_COMMA, FIELD(offset)},
    {"root", 0, "N", "broadcast: position of the sender in its group", "0", GROUP_WORK, FOR_POINTS | FOR_EVAL,
     OPTION_COUNT, LIST_COMMA, FIELD(root)},
    {"dtype", 0, "TYPE", "bf16, f32, int8, ...; default: bf16, of eval the type JAX would give the input",
     "bf16", GROUP_WORK, FOR_POINTS | FOR_EVAL | FOR_FIT, OPTION_TEXT, LIST_COMMA, SHOWN(dtype)},
    {"size", 0, "BYTES", "bytes of the whole array: 64MiB, or 1MiB:1GiB:x4", NULL, GROUP_WORK, FOR_POINTS,
     OPTION_BYTES, LIST_COMMA, SHOWN(size_bytes)},

    {"routes", 0, "N", "collective-permute: disjoint routes that share the bytes", "1", GROUP_SCHEDULE,
     FOR_POINTS | FOR_EVAL, OPTION_COUNT, LIST_COMMA, FIELD(routes)},
    {"algorithm", 0, "NAME", "all-to-all: direct (every pair at once) or ring", "direct", GROUP_SCHEDULE,
     FOR_POINTS | FOR_EVAL | FOR_FIT, OPTION_CHOICE, LIST_COMMA, SHOWN(algorithm),
     .by_name = algorithm_by_name},
    {"keep-ties", 0, NULL, "all-to-all: what is half way round goes by + whole, not split", "off",
     GROUP_SCHEDULE, FOR_POINTS | FOR_EVAL, OPTION_FLAG, LIST_LAST, FIELD(keep_ties)},
    {"strategy", 0, "NAME", "matmul: naive, uni, bidi, bidi-half, or auto: the best of them", "auto",
     GROUP_SCHEDULE, FOR_POINTS, OPTION_TEXT, LIST_COMMA, SHOWN(strategy)},
    {"all-reduce", 0, "NAME", "matmul: overlapped all-reduces are scatter-gather loops, or chunks",
     "scatter-gather", GROUP_SCHEDULE, FOR_POINTS, OPTION_CHOICE, LIST_COMMA, FIELD(all_reduce),
     .by_name = matmul_reduce_by_name},
    {"chunks", 0, "N", "matmul: pieces of the output with --all-reduce chunks", "4", GROUP_SCHEDULE,
     FOR_POINTS, OPTION_COUNT, LIST_COMMA, FIELD(chunks)},
    {"loop", 0, "NAME", "matmul: unrolled (N-1 permutes), or xla (uni reduce-scatter loops have N)",
     "unrolled", GROUP_SCHEDULE, FOR_POINTS, OPTION_CHOICE, LIST_COMMA, FIELD(loop),
     .by_name = matmul_loop_by_name},
    {"ring", 0, "NAME", "uni, bidi or bidi-half; default: the profile's", NULL, GROUP_SCHEDULE,
     FOR_POINTS | FOR_EVAL | FOR_FIT, OPTION_CHOICE, LIST_COMMA, SHOWN(ring), .by_name = ring_kind_by_name},

    {"engine", 0, "NAME", "auto, simgrid or event; auto: simgrid up to 20,000 transfers", "auto",
     GROUP_ENGINE, FOR_POINTS, OPTION_CHOICE, LIST_COMMA, SHOWN(engine), .by_name = engine_index},
    {"fold", 0, "on|off", "event engine: simulate one chip of those that are alike", "on", GROUP_ENGINE,
     FOR_POINTS, OPTION_FLAG, LIST_LAST, FIELD(fold)},
    {"check", 0, NULL, "check the invariants of program and trace, too", "off", GROUP_ENGINE, FOR_POINTS,
     OPTION_FLAG, LIST_LAST, FIELD(check)},
    {"jobs", 'j', "N", "simulations at a time", "1", GROUP_ENGINE, FOR_SWEEP, OPTION_COUNT, LIST_LAST,
     NO_FIELD},

    {"csv", 0, "FILE", "one row a point, in SI units; - is stdout, and then no table", NULL, GROUP_OUTPUT,
     FOR_POINTS | FOR_FIT | FOR_VALIDATE, OPTION_TEXT, LIST_LAST, NO_FIELD},
    {"steps", 0, NULL, "print the time of each step", "off", GROUP_OUTPUT, FOR_RUN, OPTION_FLAG, LIST_LAST,
     NO_FIELD},
    {"links", 0, "FILE", "CSV of all links: bytes and share of the bandwidth in use", NULL, GROUP_OUTPUT,
     FOR_RUN, OPTION_TEXT, LIST_LAST, NO_FIELD},
    {"critical-path", 0, NULL, "print what hides behind computes, what waits for what, and the critical path",
     "off", GROUP_OUTPUT, FOR_RUN, OPTION_FLAG, LIST_LAST, NO_FIELD},
    {"trace", 0, "FILE", "Chrome trace events of one point, for ui.perfetto.dev; - is stdout", NULL,
     GROUP_OUTPUT, FOR_RUN, OPTION_TEXT, LIST_LAST, NO_FIELD},
    {"trace-chips", 0, "N", "how many chips --trace shows", "8", GROUP_OUTPUT, FOR_RUN, OPTION_COUNT,
     LIST_LAST, NO_FIELD},
    {"timing", 0, NULL, "say on stderr where the program's own time and memory go", "off", GROUP_OUTPUT,
     FOR_RUN, OPTION_FLAG, LIST_LAST, NO_FIELD},
    {"dump-program", 0, NULL, "print the program as text instead of running it", "off", GROUP_OUTPUT, FOR_RUN,
     OPTION_FLAG, LIST_LAST, NO_FIELD},
    {"crossover", 0, NULL, "sizes at which any two columns cross, not only the rings' two", "off",
     GROUP_OUTPUT, FOR_COMPARE, OPTION_FLAG, LIST_LAST, NO_FIELD},
    {"output", 'o', "FILE", "topology export: the XML file", "-", GROUP_OUTPUT, FOR_TOPOLOGY, OPTION_TEXT,
     LIST_LAST, NO_FIELD},
    {"action", 0, "show|export", "show prints the slice, export writes SimGrid XML", NULL, GROUP_WORK,
     FOR_TOPOLOGY, OPTION_TEXT, LIST_LAST, .positional = true, NO_FIELD},

    {"file", 0, "FILE", "CSV of measured times", NULL, GROUP_WORK, FOR_FIT, OPTION_TEXT, LIST_LAST,
     .positional = true, NO_FIELD},
    {"operation", 0, "OP", "collective measured, where the file does not say", NULL, GROUP_WORK, FOR_FIT,
     OPTION_TEXT, LIST_LAST, NO_FIELD},
    {"where", 0, "COLUMN=VALUE", "only rows with this in a column; may be repeated", NULL, GROUP_WORK,
     FOR_FIT, OPTION_TEXT, LIST_REPEAT, NO_FIELD},
    {"robust", 0, NULL, "bisquare weights: far points count less", "off", GROUP_WORK, FOR_FIT, OPTION_FLAG,
     LIST_LAST, NO_FIELD},
    {"hold", 0, "NAMES", "leave overhead, hop or link at the chip's value: --hold hop,link", NULL, GROUP_WORK,
     FOR_FIT, OPTION_TEXT, LIST_LAST, NO_FIELD},
    {"predict", 0, "SIZES", "predict times for sizes, such as 1MiB:1GiB:x4", NULL, GROUP_OUTPUT, FOR_FIT,
     OPTION_TEXT, LIST_LAST, NO_FIELD},
    {"write-profile", 0, "FILE", "write the machine fitted as a chip file with a measured profile", NULL,
     GROUP_OUTPUT, FOR_FIT, OPTION_TEXT, LIST_LAST, NO_FIELD},
    {"formulas", 0, NULL, "exact forms against both engines, rules in and beyond their range", "off",
     GROUP_WORK, FOR_VALIDATE, OPTION_FLAG, LIST_LAST, NO_FIELD},
    {"engines", 0, NULL, "event against SimGrid, every op of every chip", "off", GROUP_WORK, FOR_VALIDATE,
     OPTION_FLAG, LIST_LAST, NO_FIELD},
    {"published", 0, NULL, "published measurements and worked problems", "off", GROUP_WORK, FOR_VALIDATE,
     OPTION_FLAG, LIST_LAST, NO_FIELD},
    {"summary", 0, NULL, "print the summary only", "off", GROUP_OUTPUT, FOR_VALIDATE, OPTION_FLAG, LIST_LAST,
     NO_FIELD},

    {"cases", 0, "FILE", "a JSON file of cases, each with what must come out; then no OP", NULL, GROUP_WORK,
     FOR_EVAL, OPTION_TEXT, LIST_LAST, NO_FIELD},
    {"input", 0, "NUMBERS", "global array: \"arange(8).reshape(2,4)\", [[1,2],[3,4]], a .json or .csv file",
     NULL, GROUP_WORK, FOR_EVAL, OPTION_TEXT, LIST_LAST, NO_FIELD},
    {"in", 0, "SPEC", "how the input is cut: P(None,tp); default: dim 0 over --axis", NULL, GROUP_WORK,
     FOR_EVAL, OPTION_TEXT, LIST_LAST, NO_FIELD},
    {"out", 0, "SPEC", "how the result is joined: P(tp); default: what follows from --in and OP", NULL,
     GROUP_WORK, FOR_EVAL, OPTION_TEXT, LIST_LAST, NO_FIELD},
    {"local", 0, "STEP", "on each block before: mean, roll:5, slice:0:4 or add:1", NULL, GROUP_WORK, FOR_EVAL,
     OPTION_TEXT, LIST_LAST, NO_FIELD},
    {"tiled", 0, NULL, "all_gather, psum_scatter, all_to_all: keep the dims", "off", GROUP_WORK, FOR_EVAL,
     OPTION_FLAG, LIST_LAST, NO_FIELD},
    {"dim", 0, "N", "all_gather: the dim that is joined or added (its axis)", "0", GROUP_WORK, FOR_EVAL,
     OPTION_INTEGER, LIST_LAST, NO_FIELD},
    {"scatter-dimension", 0, "N", "psum_scatter: the dim that is handed out", "0", GROUP_WORK, FOR_EVAL,
     OPTION_INTEGER, LIST_LAST, NO_FIELD},
    {"split-axis", 0, "N", "all_to_all: the dim that is handed out", "0", GROUP_WORK, FOR_EVAL,
     OPTION_INTEGER, LIST_LAST, NO_FIELD},
    {"concat-axis", 0, "N", "all_to_all: the dim that is joined or added", "0", GROUP_WORK, FOR_EVAL,
     OPTION_INTEGER, LIST_LAST, NO_FIELD},
    {"perm", 0, "PAIRS", "ppermute: 0-1,1-2 or [(0,1),(1,2)], numbered in mesh order", NULL, GROUP_WORK,
     FOR_EVAL, OPTION_TEXT, LIST_LAST, NO_FIELD},
    {"rows", 0, "NUMBERS", "ragged_all_to_all: rows from each position to each, [[1,0],[2,3]]", NULL,
     GROUP_WORK, FOR_EVAL, OPTION_TEXT, LIST_LAST, NO_FIELD},
};

enum { OPTION_COUNT_OF_TABLE = sizeof option_table / sizeof *option_table };
_Static_assert((int)OPTION_COUNT_OF_TABLE <= (int)OPTIONS_MAX, "settings have no room for so many options");
const int option_count = OPTION_COUNT_OF_TABLE;

const struct option_row *option_by_name(const char *name)
{
    for (int i = 0; i < option_count; i++)
        if (strcmp(option_table[i].name, name) == 0)
            return &option_table[i];
    return NULL;
}

int option_index(const struct option_row *option)
{
    return (int)(option - option_table);
}

/* How messages call it. */
static const char *title(const struct option_row *option, char text[static OPTION_NAME])
{
    snprintf(text, OPTION_NAME, "%s%s", option->positional ? "" : "--", option->name);
    return text;
}

static int parse_integer(const char *what, const char *text, int least, int *value, struct status *st)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (end == text || *end || errno || n < least || n > INT_MAX)
        return status_fail(st, STATUS_INPUT, "%s '%s': not a whole number%s", what, text,
                           least >= 0 ? " of 0 or more" : "");
    *value = (int)n;
    return 0;
}

static int parse_flag(const char *what, const char *text, bool *value, struct status *st)
{
    *value = strcmp(text, "on") == 0 || strcmp(text, "true") == 0;
    if (*value || strcmp(text, "off") == 0 || strcmp(text, "false") == 0)
        return 0;
    return status_fail(st, STATUS_INPUT, "%s '%s': write on or off", what, text);
}

/* Any value that an option can have. */
union value {
    const char *text;
    bool flag;
    int count;
    uint64_t bytes;
    double real;
};

/* The value of a text; returns its size, or a negative code. */
static int parse(const struct option_row *option, const char *text, union value *value, struct status *st)
{
    char what[OPTION_NAME];
    title(option, what);
    int code = 0;
    switch (option->kind) {
    case OPTION_TEXT:
        value->text = text;
        if (*text == '\0')
            return status_fail(st, STATUS_INPUT, "%s is empty; leave it out or give a value", what);
        return sizeof value->text;
    case OPTION_FLAG:
        code = parse_flag(what, text, &value->flag, st);
        return code < 0 ? code : (int)sizeof value->flag;
    case OPTION_CHOICE:
        value->count = option->by_name(text, st);
        if (st->code < 0)
            return status_prefix(st, "%s: ", what);
        return sizeof value->count;
    case OPTION_COUNT:
    case OPTION_INTEGER:
        code = parse_integer(what, text, option->kind == OPTION_COUNT ? 0 : INT_MIN, &value->count, st);
        return code < 0 ? code : (int)sizeof value->count;
    case OPTION_BYTES:
        code = units_parse_bytes(what, text, &value->bytes, st);
        if (code == 0 && value->bytes == 0)
            return status_fail(st, STATUS_INPUT, "%s '%s': nothing to send; write 1KiB or more", what, text);
        return code < 0 ? code : (int)sizeof value->bytes;
    case OPTION_BANDWIDTH:
        code = units_parse_bandwidth(what, text, &value->real, st);
        if (code == 0 && !(value->real > 0))
            return status_fail(st, STATUS_INPUT, "%s '%s': must be above 0, such as 45GBps", what, text);
        return code < 0 ? code : (int)sizeof value->real;
    case OPTION_TIME:
        code = units_parse_time(what, text, &value->real, st);
        return code < 0 ? code : (int)sizeof value->real;
    case OPTION_FRACTION:
        code = units_parse_fraction(what, text, &value->real, st);
        if (code == 0 && !(value->real > 0 && value->real <= 1))
            return status_fail(st, STATUS_INPUT, "%s '%s': a share above 0, at most 1, such as 0.9", what,
                               text);
        return code < 0 ? code : (int)sizeof value->real;
    }
    assert(!"every kind has a case");
    return STATUS_INPUT;
}

int option_set(const struct option_row *option, const char *text, struct point *point, struct status *st)
{
    union value value;
    struct status own = {0};
    int size = parse(option, text, &value, &own);
    if (size < 0)
        return status_fail(st, own.code, "%s", own.text);
    if (option->of_point && point)
        memcpy((char *)point + option->offset, &value, (size_t)size);
    return 0;
}

void point_init(struct point *point)
{
    *point = (struct point){.link_Bps = NAN,
                            .hop_latency_s = NAN,
                            .matmul_efficiency = NAN,
                            .launch_overhead_s = NAN,
                            .ring = CHOICE_OPEN,
                            .engine = CHOICE_OPEN};
    for (int i = 0; i < option_count; i++) {
        const struct option_row *option = &option_table[i];
        if (!option->of_point || !option->fallback)
            continue;
        int code = option_set(option, option->fallback, point, NULL);
        assert(code == 0);
        (void)code;
    }
}
