/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/ranking.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

int ranking_top(const struct settings *settings)
{
    return settings_count(settings, "top") ? settings_integer(settings, "top") : 0;
}

int ranking_check(const struct settings *settings, struct status *st)
{
    int top = ranking_top(settings);
    if (settings_count(settings, "top") && (top < 1 || top > RANKING_MAX))
        return status_fail(st, STATUS_INPUT, "--top %d: write 1 to %d", top, RANKING_MAX);
    return 0;
}

int ranking_init(struct ranking *ranking, int top, struct status *st)
{
    *ranking = (struct ranking){.top = top};
    ranking->ranked = malloc((size_t)top * sizeof *ranking->ranked);
    return ranking->ranked ? 0 : status_nomem(st);
}

void ranking_free(struct ranking *ranking)
{
    free(ranking->ranked);
    ranking->ranked = NULL;
}

static bool comes_before(const struct ranked *a, const struct ranked *b)
{
    bool equal = !(a->result.time_s < b->result.time_s) && !(b->result.time_s < a->result.time_s);
    return equal ? a->index < b->index : a->result.time_s < b->result.time_s;
}

void ranking_leave(struct ranking *ranking, int code)
{
    *(code == STATUS_MEMORY   ? &ranking->unfit
      : code == STATUS_UNEVEN ? &ranking->uneven
                              : &ranking->refused) += 1;
}

void ranking_add(struct ranking *ranking, int64_t index, const struct result *result)
{
    ranking->seen++;
    ranking_rank(ranking, index, result);
}

void ranking_rank(struct ranking *ranking, int64_t index, const struct result *result)
{
    if (result->code < 0 || !(result->time_s >= 0))
        return;
    struct ranked added = {.index = index, .result = *result};
    ranking->timed++;
    int at = ranking->count;
    while (at > 0 && comes_before(&added, &ranking->ranked[at - 1]))
        at--;
    if (at == ranking->top)
        return;
    int moved = (ranking->count < ranking->top ? ranking->count : ranking->top - 1) - at;
    memmove(&ranking->ranked[at + 1], &ranking->ranked[at], (size_t)moved * sizeof *ranking->ranked);
    ranking->ranked[at] = added;
    ranking->count += ranking->count < ranking->top;
}

/* What a search has left out; else only how many points have no time. */
static void print_left(const struct ranking *ranking, FILE *out)
{
    const struct {
        int64_t points;
        const char *why;
    } left[] = {{ranking->unfit, "do not fit memory"},
                {ranking->uneven, "have no whole sequences on a shard of the batch"},
                {ranking->refused, "are invalid"},
                {ranking->slower, "are not as fast, by what their links have to carry"}};
    bool searched = ranking->unfit + ranking->uneven + ranking->refused + ranking->slower > 0;
    for (size_t i = 0; i < sizeof left / sizeof *left && searched; i++)
        if (left[i].points > 0)
            fprintf(out, "; %" PRId64 " %s", left[i].points, left[i].why);
    if (!searched && ranking->timed < ranking->seen)
        fprintf(out, "; %" PRId64 " have no time", ranking->seen - ranking->timed);
}

int ranking_print(const struct ranking *ranking, FILE *out, struct status *st)
{
    if (ranking->count == 0 && ranking->unfit > 0)
        return status_fail(st, STATUS_INPUT,
                           "none of the %" PRId64 " points can run: %" PRId64 " do not fit memory; take more "
                           "chips, --remat full or fewer --tokens-per-chip",
                           ranking->seen, ranking->unfit);
    if (ranking->count == 0)
        return status_fail(st, STATUS_INPUT, "none of the %" PRId64 " points has a time; --csv FILE says why",
                           ranking->seen);
    struct result *result = malloc((size_t)ranking->count * sizeof *result);
    if (!result)
        return status_nomem(st);
    for (int i = 0; i < ranking->count; i++)
        result[i] = ranking->ranked[i].result;
    fprintf(out, "# the fastest %d of %" PRId64 " points, fastest first", ranking->count, ranking->seen);
    print_left(ranking, out);
    fputc('\n', out);
    int code = report_table(result, ranking->count, out, st);
    free(result);
    return code;
}
