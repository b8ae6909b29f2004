/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/ranking.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "faces/rows.h"
#include "report/report.h"

int ranking_init(struct ranking *ranking, const struct settings *settings, struct status *st)
{
    *ranking = (struct ranking){.width = rows_width(settings)};
    bool all = settings->sorted && settings_count(settings, "top") == 0;
    if (!all && settings_count(settings, "top") == 0)
        return 0;
    int top = all ? settings_count(settings, "mesh") : settings_integer(settings, "top");
    if (top < 1 || top > RANKING_MAX)
        return status_fail(st, STATUS_INPUT, "--top %d: write 1 to %d", top, RANKING_MAX);
    ranking->top = top;
    ranking->result = malloc((size_t)top * sizeof *ranking->result);
    ranking->index = malloc((size_t)top * sizeof *ranking->index);
    return ranking->result && ranking->index ? 0 : status_nomem(st);
}

void ranking_free(struct ranking *ranking)
{
    free(ranking->result);
    free(ranking->index);
    *ranking = (struct ranking){0};
}

/* The rank of a point among those in the list. */
static int place_of(const struct ranking *ranking, int64_t index, double time_s)
{
    int at = ranking->count;
    while (at > 0 && (time_s < ranking->result[at - 1].time_s ||
                      (!(time_s > ranking->result[at - 1].time_s) && index < ranking->index[at - 1])))
        at--;
    return at;
}

static void insert(struct ranking *ranking, int64_t index, const struct result *result)
{
    int at = place_of(ranking, index, result->time_s);
    if (at == ranking->top)
        return;
    ranking->count += ranking->count < ranking->top;
    size_t moved = (size_t)(ranking->count - 1 - at);
    memmove(&ranking->result[at + 1], &ranking->result[at], moved * sizeof *ranking->result);
    memmove(&ranking->index[at + 1], &ranking->index[at], moved * sizeof *ranking->index);
    ranking->result[at] = *result;
    ranking->index[at] = index;
}

void ranking_count(struct ranking *ranking, int code)
{
    bool refusal = status_is_refusal(code);
    ranking->unfit += code == STATUS_MEMORY;
    ranking->uneven += code == STATUS_UNEVEN;
    ranking->failed += code < 0 && !refusal;
    ranking->refused += refusal && code != STATUS_MEMORY && code != STATUS_UNEVEN;
}

void ranking_add(struct ranking *ranking, int64_t index, const struct result *result)
{
    ranking->seen++;
    ranking_count(ranking, result->code);
    if (result->code < 0 || !(result->time_s >= 0))
        return;
    ranking->timed++;
    insert(ranking, index, result);
}

/* Prints how many points a search has skipped, and why; else only how many points have no time. */
static void print_left(const struct ranking *ranking, FILE *out)
{
    const struct {
        int64_t points;
        const char *why;
    } left[] = {{ranking->unfit, "exceed HBM"},        {ranking->uneven, "cannot split the batch evenly"},
                {ranking->refused, "are invalid"},     {ranking->failed, "failed"},
                {ranking->bounded, "pruned by bound"}, {ranking->slower, "pruned by estimate"}};
    for (size_t i = 0; i < sizeof left / sizeof *left && ranking->searched; i++)
        if (left[i].points > 0)
            fprintf(out, "; %" PRId64 " %s", left[i].points, left[i].why);
    if (!ranking->searched && ranking->timed < ranking->seen)
        fprintf(out, "; %" PRId64 " have no time", ranking->seen - ranking->timed);
    fputc('\n', out);
}

int ranking_print(const struct ranking *ranking, FILE *out, struct status *st)
{
    if (ranking->count == 0 && ranking->searched && ranking->unfit > 0)
        return status_fail(st, STATUS_INPUT,
                           "none of the %" PRId64 " points can run: %" PRId64
                           " do not fit memory; take more chips, --remat full or fewer --tokens-per-chip",
                           ranking->seen, ranking->unfit);
    if (ranking->count == 0)
        return status_fail(st, STATUS_INPUT, "none of the %" PRId64 " points has a time; --csv FILE says why",
                           ranking->seen);
    fprintf(out, "# the fastest %d of %" PRId64 " points, fastest first", ranking->count, ranking->seen);
    print_left(ranking, out);
    if (report_table(ranking->result, ranking->count, ranking->width, out, st) < 0 || ranking->failed == 0)
        return st->code;
    return status_fail(st, STATUS_ENGINE, "%" PRId64 " of %" PRId64 " points failed; --csv FILE says how",
                       ranking->failed, ranking->seen);
}
