/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/defects.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* One defect of the text, "2,1,0:x+=0.5". */
enum { WORD = 80 };
struct defect {
    const char *option; /* for messages */
    char word[WORD];
    int chip, axis, sign; /* sign 0: both links of the cable in + direction */
    double frac;
};

static int bad(const struct defect *defect, const char *cure, struct status *st)
{
    return status_fail(st, STATUS_INPUT, "%s '%s': %s", defect->option, defect->word, cure);
}

/* Reads "2,1,0" and moves `*at` past it. */
static int read_chip(const struct slice *slice, struct defect *defect, const char **at, struct status *st)
{
    int coord[SLICE_AXES];
    char shape[SLICE_TEXT];
    for (int a = 0; a < slice->axes; a++) {
        char *end = NULL;
        long c = isdigit((unsigned char)**at) ? strtol(*at, &end, 10) : -1;
        if (c < 0 || (a < slice->axes - 1 && *end != ','))
            return status_fail(st, STATUS_INPUT, "%s '%s': name the chip by its %d coordinates on slice %s",
                               defect->option, defect->word, slice->axes, slice_print_shape(slice, shape));
        if (c >= slice->len[a])
            return status_fail(st, STATUS_INPUT,
                               "%s '%s': coordinate %ld is not on slice %s; %c runs from 0 to %d",
                               defect->option, defect->word, c, slice_print_shape(slice, shape),
                               slice_axis_name(a), slice->len[a] - 1);
        coord[a] = (int)c;
        *at = a < slice->axes - 1 ? end + 1 : end;
    }
    defect->chip = slice_chip(slice, coord);
    return 0;
}

static int read_share(struct defect *defect, const char *at, struct status *st)
{
    char what[2 * WORD];
    snprintf(what, sizeof what, "%s '%s':", defect->option, defect->word);
    return units_parse_fraction(what, at, &defect->frac, st);
}

/* Reads the direction in ":x+=0.5" or ":x=0", and moves *at past it. */
static int read_direction(const struct slice *slice, struct defect *defect, const char **at,
                          struct status *st)
{
    const char *text = *at;
    int axis = *text == ':' ? slice_axis_by_name(text[1]) : -1;
    if (axis < 0 || axis >= slice->axes)
        return bad(defect, "write chip:direction=share, such as 1,0:x+=0.5, or 1,0:x=0 for both ways", st);
    text += 2;
    defect->axis = axis;
    defect->sign = *text == '+' ? 1 : *text == '-' ? -1 : 0;
    *at = text + (defect->sign != 0);
    if (slice_link_built(slice, defect->chip, axis, defect->sign ? defect->sign : 1) < 0)
        return bad(defect, "the slice has no such link; see icisim topology show", st);
    return 0;
}

static int spoil_link(struct slice *slice, int link, double frac, struct status *st)
{
    if (frac <= 0)
        return slice_kill_link(slice, link, st);
    return slice_set_link(slice, link, slice->link_Bps * frac, slice->hop_latency_s, st);
}

static int apply_link(struct slice *slice, struct defect *defect, const char *at, struct status *st)
{
    if (read_direction(slice, defect, &at, st) < 0)
        return st->code;
    if (*at != '=')
        return bad(defect, "write chip:direction=share, such as 1,0:x+=0.5, or 1,0:x=0 for both ways", st);
    if (read_share(defect, at + 1, st) < 0)
        return st->code;
    int sign = defect->sign ? defect->sign : 1;
    int link = slice_link_built(slice, defect->chip, defect->axis, sign);
    int code = spoil_link(slice, link, defect->frac, st);
    if (code == 0 && defect->sign == 0) {
        int end = slice_link_row(slice, link).to;
        code = spoil_link(slice, slice_link_built(slice, end, defect->axis, -sign), defect->frac, st);
    }
    return code;
}

static int apply_chip(struct slice *slice, struct defect *defect, const char *at, struct status *st)
{
    if (*at != '=')
        return bad(defect, "write chip=share, such as 3,3,3=0.8", st);
    if (read_share(defect, at + 1, st) < 0)
        return st->code;
    if (!(defect->frac > 0))
        return bad(defect, "a chip that does not compute ends nothing; write a share above 0", st);
    return slice_slow_chip(slice, defect->chip, defect->frac, st);
}

static int read_all(struct slice *slice, const char *option, const char *text,
                    int (*apply)(struct slice *slice, struct defect *defect, const char *at,
                                 struct status *st),
                    struct status *st)
{
    for (const char *at = text ? text : ""; *(at += strspn(at, " "));) {
        struct defect defect = {.option = option};
        size_t length = strcspn(at, " ");
        if (length >= WORD)
            return status_fail(st, STATUS_INPUT, "%s '%.20s...': longer than any chip, direction and share",
                               option, at);
        memcpy(defect.word, at, length);
        const char *word = defect.word;
        if (read_chip(slice, &defect, &word, st) < 0 || apply(slice, &defect, word, st) < 0)
            return st->code;
        at += length;
    }
    return 0;
}

int defects_read_links(struct slice *slice, const char *text, struct status *st)
{
    return read_all(slice, "--link", text, apply_link, st);
}

int defects_read_chips(struct slice *slice, const char *text, struct status *st)
{
    return read_all(slice, "--slow-chip", text, apply_chip, st);
}

void defects_show(const struct slice *slice, FILE *out)
{
    char place[SLICE_PLACE], text[UNITS_TEXT];
    for (int id = 0; slice->link && id < slice_link_ids(slice); id++) {
        const struct slice_link *link = &slice->link[id];
        char direction[] = {slice_axis_name(slice_link_axis(slice, id)), slice_link_sign(id) > 0 ? '+' : '-',
                            '\0'};
        slice_print_place(slice, link->from, place);
        if (link->kind == LINK_DEAD)
            fprintf(out, "dead link  %s %s\n", place, direction);
        else if (link->kind == LINK_ICI && link->bandwidth_Bps < slice->link_Bps)
            fprintf(out, "slow link  %s %s: %s one way, %g of what it was\n", place, direction,
                    units_print_bandwidth(link->bandwidth_Bps, text), link->bandwidth_Bps / slice->link_Bps);
    }
    for (int chip = 0; slice->chip_frac && chip < slice->chips; chip++)
        if (slice->chip_frac[chip] < 1)
            fprintf(out, "slow chip  %s: %g of its peak and HBM bandwidth\n",
                    slice_print_place(slice, chip, place), slice->chip_frac[chip]);
}
