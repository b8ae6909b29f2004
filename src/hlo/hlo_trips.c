/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trip counts that are given beside the text: "while.3=80,while.4=12". */
#include <string.h>

#include "hlo/hlo_reader.h"

/* The next entry of the list; false at its end, and where it is none: then its status has a fault. */
static bool next_entry(struct hlo_lexer *list, struct span *name, int64_t *trips)
{
    if (!hlo_peek(list))
        return false;
    return hlo_name(list, "a while", name) == 0 && hlo_expect(list, '=', "after it") == 0 &&
           hlo_integer(list, "a trip count", 0, INT64_C(1) << 40, trips) == 0 &&
           (!hlo_peek(list) || hlo_expect(list, ',', "after it") == 0);
}

static struct hlo_lexer list_of(const char *trips, struct status *st)
{
    trips = trips ? trips : "";
    return (struct hlo_lexer){"--trip-count", trips, trips, trips + strlen(trips), "", st};
}

int64_t hlo_given_trips(const struct hlo_reader *r, struct span name)
{
    struct status st = {0};
    struct hlo_lexer list = list_of(r->trips, &st);
    struct span given;
    for (int64_t trips; next_entry(&list, &given, &trips);)
        if (given.length == name.length && memcmp(given.at, name.at, (size_t)name.length) == 0)
            return trips;
    return -1;
}

int hlo_check_given(const struct hlo_reader *r)
{
    const struct module *module = r->module;
    struct status st = {0};
    struct hlo_lexer list = list_of(r->trips, &st);
    struct span name;
    for (int64_t trips; next_entry(&list, &name, &trips);) {
        int32_t i = 0;
        while (i < module->instructions && (module_at(module, i)->opcode != HLO_WHILE ||
                                            !span_is(name, module_word(module, module_at(module, i)->name))))
            i++;
        if (i == module->instructions)
            return status_fail(r->lexer.st, STATUS_INPUT, "%s: --trip-count: there is no while '%.*s'",
                               r->lexer.file, name.length, name.at);
    }
    if (st.code == STATUS_OK)
        return 0;
    return status_fail(r->lexer.st, STATUS_INPUT,
                       "--trip-count '%s': expected NAME=N,NAME=N, as in while.1=80", r->trips);
}
