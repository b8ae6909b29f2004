/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/sweep_shard.h"

#include "base/cursor.h"

int shard_parse(const char *text, struct shard *shard, struct status *st)
{
    int64_t index = 0, of = 1;
    *shard = (struct shard){0, 1};
    if (!text)
        return 0;
    struct cursor c = cursor_of("--shard", text, st);
    int code = cursor_integer(&c, "the shard", 0, SHARDS_MAX - 1, &index);
    if (code == 0 && !cursor_accept(&c, "/"))
        code = cursor_fail(&c, "expected '/' and how many shards there are, such as 0/16");
    if (code == 0)
        code = cursor_integer(&c, "how many there are", 1, SHARDS_MAX, &of);
    if (code == 0)
        code = cursor_end(&c);
    if (code == 0 && index >= of)
        code = cursor_fail(&c, "of %d shards the last one is %d/%d", (int)of, (int)of - 1, (int)of);
    *shard = (struct shard){(int)index, (int)of};
    return code;
}
