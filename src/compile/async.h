/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to compile/. */
/*
 * async: collectives in two parts, for passes that start them early or wait for them late. A pass chooses
 * which collectives of the entry are split, then starts them where it wants to. Writing an instruction first
 * writes the instructions that it needs, and the done of a collective that is split.
 *
 * Errors: STATUS_NOMEM. Ownership: async_close() frees it all, also after an error.
 */
#pragma once

#include "hlo/edit.h"

enum { ASYNC_WHOLE = -2, ASYNC_LATER = -1 };
struct async {
    struct edit edit;
    /* [instructions] in the new module; ASYNC_LATER before that; ASYNC_WHOLE: it is not split. */
    int32_t *start;
};

int async_open(struct async *async, const struct module *from, struct module *to, struct status *st);
int async_close(struct async *async, int code, struct status *st);

static inline bool async_is_split(const struct async *async, int32_t at)
{
    return async->start[at] != ASYNC_WHOLE;
}
static inline void async_split(struct async *async, int32_t at)
{
    async->start[at] = ASYNC_LATER;
}
/* Starts an all-gather, reduce-scatter, all-reduce or all-to-all (ragged or not) that is split, unless it has
 * started; the start has all its attributes. */
void async_start(struct async *async, int32_t at);
/* Writes an instruction unless it is written already: for a split collective the done, under its name. */
void async_write(struct async *async, int32_t at);
void async_write_operands(struct async *async, int32_t at);
