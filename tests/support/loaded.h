/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A Chrome trace, loaded again with a JSON parser, and what viewers and readers of any rely on. */
#ifndef LOADED_H
#define LOADED_H

#include "base/document.h"
#include "report/perfetto.h"

/* A trace as text and as JSON. */
struct loaded {
    char *text;
    size_t bytes;
    struct document document;
    const struct node *events;
    struct status st;
};

/* Of a program that was run; freed with loaded_free(). */
void loaded_read(struct loaded *l, const struct program *program, const struct trace *trace,
                 struct perfetto_options options);
void loaded_free(struct loaded *l);

int loaded_events(const struct loaded *l);

/* Metadata comes first, events have their order and nest, arrows begin and end on events. Returns the number of arrows. */
int loaded_check(const struct loaded *l);

/* The one event of a chip with that name, row, start and length in us, or NULL. */
const struct node *loaded_find(const struct loaded *l, int pid, const char *row, const char *name,
                               double start_us, double dur_us);

/* What an event has under a key, or among its arguments; "" or -1 if nothing. */
const char *event_text(const struct node *event, const char *key);
const char *event_arg(const struct node *event, const char *key);
long event_number(const struct node *event, const char *key);
/* Microseconds with six decimals, as picoseconds; -1 for anything else. */
long long event_ps(const struct node *event, const char *key);
bool event_is(const struct node *event, const char *ph);

#endif
