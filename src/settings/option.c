/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "settings/option.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "base/units.h"

const struct option_row *option_by_name(const char *name)
{
    for (int i = 0; i < option_count; i++)
        if (strcmp(option_table[i].name, name) == 0)
            return &option_table[i];
    return NULL;
}

const struct option_row *option_of_command(const char *name, unsigned command)
{
    for (int i = 0; i < option_count; i++)
        if (strcmp(option_table[i].name, name) == 0 && option_table[i].commands & command)
            return &option_table[i];
    return NULL;
}

int option_keys(const char *names[])
{
    int n = 0;
    for (int i = 0; i < option_count; i++)
        if (option_table[i].of_point)
            names[n++] = option_table[i].name;
    return n;
}

int option_index(const struct option_row *option)
{
    return (int)(option - option_table);
}

bool option_is_given(const struct point *point, const char *name)
{
    return point->given[option_index(option_by_name(name))];
}

/* The name of an option in messages. */
static const char *title(const struct option_row *option, char text[static OPTION_NAME])
{
    stpcpy(stpcpy(text, option->positional ? "" : "--"), option->name);
    return text;
}

/* The hint for a number with a suffix, "; 4K is written 4096"; "" if the text is not such a number. */
static const char *in_full(const char *text, char full[static OPTION_NAME])
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10), times = toupper(*end) == 'K'   ? 1 << 10
                                                   : toupper(*end) == 'M' ? 1 << 20
                                                                          : 0;
    bool is_one =
        end != text && times && !errno && n > 0 && n < INT_MAX && (!end[1] || strcasecmp(end + 1, "i") == 0);
    snprintf(full, OPTION_NAME, is_one ? "; %.12s is written %lld" : "", text, n * times);
    return full;
}

static int parse_integer(const char *what, const char *text, int least, int *value, struct status *st)
{
    char *end, full[OPTION_NAME];
    errno = 0;
    long n = strtol(text, &end, 10);
    if (end == text || *end || errno || n < least || n > INT_MAX)
        return status_fail(st, STATUS_INPUT, "%s '%s': not a whole number%s%s", what, text,
                           least >= 0 ? " of 0 or more" : "", in_full(text, full));
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

/* The index of a word among the values of the option. */
static int parse_choice(const struct option_row *option, const char *text, struct status *st)
{
    enum { WORDS = 8 };
    char words[96], *rest = words;
    const char *names[WORDS + 1] = {NULL};
    snprintf(words, sizeof words, "%s", option->values);
    for (int n = 0; n < WORDS && rest; n++)
        names[n] = strsep(&rest, " ");
    return text_choice(option->name, text, names, st);
}

/* The value of an option of any kind. */
union value {
    const char *text;
    bool flag;
    int count;
    uint64_t bytes;
    double real;
};

static const size_t value_bytes[] = {
    [OPTION_TEXT] = sizeof(const char *), [OPTION_FLAG] = sizeof(bool),   [OPTION_CHOICE] = sizeof(int),
    [OPTION_COUNT] = sizeof(int),         [OPTION_INTEGER] = sizeof(int), [OPTION_BYTES] = sizeof(uint64_t),
    [OPTION_BANDWIDTH] = sizeof(double),  [OPTION_TIME] = sizeof(double), [OPTION_FRACTION] = sizeof(double),
};

/* Reads the value of an option from a text. */
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
        return 0;
    case OPTION_FLAG:
        return parse_flag(what, text, &value->flag, st);
    case OPTION_CHOICE:
        value->count = parse_choice(option, text, st);
        return st->code < 0 ? status_prefix(st, "%s: ", what) : 0;
    case OPTION_COUNT:
    case OPTION_INTEGER:
        code = parse_integer(what, text, option->kind == OPTION_COUNT ? 0 : INT_MIN, &value->count, st);
        if (code == 0 && option->most && (value->count < option->least || value->count > option->most))
            return status_fail(st, STATUS_INPUT, "%s %d: write %d to %d", what, value->count, option->least,
                               option->most);
        return code;
    case OPTION_BYTES:
        code = units_parse_size(what, text, &value->bytes, st);
        if (code == 0 && value->bytes == 0)
            return status_fail(st, STATUS_INPUT, "%s '%s': nothing to send; write 1KiB or more", what, text);
        return code;
    case OPTION_BANDWIDTH:
        code = units_parse_bandwidth(what, text, &value->real, st);
        if (code == 0 && !(value->real > 0))
            return status_fail(st, STATUS_INPUT, "%s '%s': must be above 0, such as 45GBps", what, text);
        return code;
    case OPTION_TIME:
        return units_parse_time(what, text, &value->real, st);
    case OPTION_FRACTION:
        code = units_parse_fraction(what, text, &value->real, st);
        if (code == 0 && !(value->real > 0 && value->real <= 1))
            return status_fail(st, STATUS_INPUT,
                               "%s '%s': must be a share above 0 and at most 1, such as 0.9", what, text);
        return code;
    }
    assert(!"every kind has a case");
    return STATUS_INPUT;
}

int option_number(const struct option_row *option, const char *text, double *number, struct status *st)
{
    union value value;
    int code = parse(option, text, &value, st);
    if (code == 0)
        *number = option->kind == OPTION_BYTES               ? (double)value.bytes
                  : value_bytes[option->kind] == sizeof(int) ? value.count
                                                             : value.real;
    return code;
}

int option_set(const struct option_row *option, const char *text, struct point *point, struct status *st)
{
    union value value;
    struct status own = {0};
    if (parse(option, text, &value, &own) < 0)
        return status_fail(st, own.code, "%s", own.text);
    if (option->of_point && point)
        memcpy((char *)point + option->offset, &value, value_bytes[option->kind]);
    return 0;
}

int option_check(const struct point *point, enum op_set op, const char *name, struct status *st)
{
    char what[OPTION_NAME];
    for (int i = 0; i < option_count; i++)
        if (point->given[i] && option_table[i].ops && !(option_table[i].ops & op))
            return status_fail(st, STATUS_INPUT, "%s does not apply to %s; leave it out",
                               title(&option_table[i], what), name);
    return 0;
}

void point_init(struct point *point)
{
    *point = (struct point){.machine.link_Bps = NAN,
                            .machine.hop_latency_s = NAN,
                            .machine.matmul_efficiency = NAN,
                            .machine.launch_overhead_s = NAN,
                            .machine.profile = CHOICE_OPEN,
                            .work.optimizer = CHOICE_OPEN,
                            .machine.twist = CHOICE_OPEN,
                            .schedule.ring = CHOICE_OPEN,
                            .schedule.collective_queue = CHOICE_OPEN,
                            .schedule.algorithm = CHOICE_OPEN};
    for (int i = 0; i < option_count; i++) {
        const struct option_row *option = &option_table[i];
        if (!option->of_point || !option->fallback)
            continue;
        int code = option_set(option, option->fallback, point, NULL);
        assert(code == 0);
        (void)code;
    }
}
