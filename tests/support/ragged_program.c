/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ragged_program.h"

#include "machine/route.h"

enum { CHIPS_MAX = 256 };

static double random_bytes(struct suite_random *r)
{
    unsigned kind = suite_random(r, 16);
    return kind == 0 ? 0 : kind == 1 ? 4096 : 1 + 1e5 * suite_random_unit(r);
}

/* Each chip sends to the one that comes so many places after it. */
static int add_sends(struct ragged_program *ragged, int places, double setup_s, struct suite_random *r,
                     struct status *st)
{
    int32_t route[CHIPS_MAX];
    double bytes[CHIPS_MAX];
    int chips = ragged->slice.chips;
    for (int chip = 0; chip < chips; chip++) {
        struct hop hop[ROUTE_HOPS];
        int hops = route_between(&ragged->slice, chip, (chip + places) % chips, hop, st);
        if (hops < 0)
            return hops;
        route[chip] = program_route(&ragged->program, hop, hops);
        bytes[chip] = random_bytes(r);
    }
    struct program *program = &ragged->program;
    program_add(program, (struct op){.kind = OP_SEND,
                                     .where = WHERE_ALL,
                                     .towards = program_towards_table(program, route, WHERE_ALL),
                                     .amount = program_amount_table(program, bytes, WHERE_ALL),
                                     .setup_s = setup_s,
                                     .payload = NO_PAYLOAD});
    return 0;
}

int ragged_program_init(struct ragged_program *ragged, const int len[SLICE_AXES], bool staggered,
                        struct suite_random *r, struct status *st)
{
    bool wrap[SLICE_AXES];
    int axes = len[2] > 1 ? 3 : len[1] > 1 ? 2 : 1;
    for (int a = 0; a < SLICE_AXES; a++)
        wrap[a] = suite_random(r, 3) > 0;
    int code = slice_init(&ragged->slice, axes, len, wrap, 45e9, 1e-6, st);
    program_init(&ragged->program, &ragged->slice);
    if (code == 0 && ragged->slice.chips > CHIPS_MAX)
        return status_fail(st, STATUS_LIMIT, "at most %d chips", CHIPS_MAX);
    program_stage(&ragged->program, "ragged");
    for (int places = 1; code == 0 && places < ragged->slice.chips; places++)
        code = add_sends(ragged, places, staggered ? 2e-5 * suite_random_unit(r) : 0, r, st);
    return code < 0 ? code : program_close(&ragged->program, st);
}

void ragged_program_free(struct ragged_program *ragged)
{
    program_free(&ragged->program);
    slice_free(&ragged->slice);
}
