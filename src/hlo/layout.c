/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_MOST = 64, BUFFER_BYTES = 512 };

/* The number in the brackets after a letter that follows the colon: 1 of S(1). */
static int marked(const char *layout, const char *mark, int fallback)
{
    const char *colon = strchr(layout, ':'), *at = colon ? strstr(colon, mark) : NULL;
    return at ? atoi(at + strlen(mark)) : fallback;
}

int layout_space(const struct module *module, int32_t shape)
{
    return marked(module_word(module, module->shape[shape].layout), "S(", SPACE_HBM);
}

/* Numbers up to the end of a list, "1,0:" or "8,128)"; a star is a tile's dim that is taken as it is. */
static int read_list(const char *at, int64_t number[RANK_MOST])
{
    int count = 0;
    while (count < RANK_MOST && ((*at >= '0' && *at <= '9') || *at == '*')) {
        char *end = (char *)at + 1;
        number[count++] = *at == '*' ? 1 : strtoll(at, &end, 10);
        at = end + (*end == ',');
    }
    return count;
}

/* The sizes of the dims, the fastest first. */
static int sizes_in_order(const struct module *module, const struct shape *s, int64_t size[RANK_MOST])
{
    int64_t order[RANK_MOST];
    const char *layout = module_word(module, s->layout);
    int rank = s->count < RANK_MOST ? s->count : RANK_MOST;
    bool ordered = *layout && read_list(layout + 1, order) == rank;
    for (int i = 0; i < rank; i++) {
        int64_t dim = ordered && order[i] < rank ? order[i] : rank - 1 - i;
        size[i] = module->number[s->first + dim];
    }
    return rank;
}

double layout_bytes(const struct module *module, int32_t shape)
{
    const struct shape *s = &module->shape[shape];
    int64_t size[RANK_MOST], tile[RANK_MOST];
    if (s->dtype < 0)
        return 0;
    const char *layout = module_word(module, s->layout), *tiles = strstr(layout, "T(");
    int rank = sizes_in_order(module, s, size), tile_rank = tiles ? read_list(tiles + 2, tile) : 0;
    double bits = 8 * dtype_info((enum dtype_id)s->dtype)->bytes, elements = 1;
    for (int i = 0; i < rank || i < tile_rank; i++) {
        double dim = i < rank ? (double)size[i] : 1;
        double step = i < tile_rank && tile[tile_rank - 1 - i] > 0 ? (double)tile[tile_rank - 1 - i] : 1;
        elements *= ceil(dim / step) * step;
    }
    bits = marked(layout, "E(", (int)bits);
    return ceil(elements * bits / 8 / BUFFER_BYTES) * BUFFER_BYTES;
}
