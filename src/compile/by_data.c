/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compile/async.h"
#include "compile/pass.h"

static bool goes(const struct module *in, int32_t at)
{
    enum opcode opcode = module_at(in, at)->opcode;
    return opcode == HLO_ALL_GATHER || opcode == HLO_REDUCE_SCATTER || opcode == HLO_ALL_REDUCE;
}

int pass_by_data(const struct module *in, struct module *out, struct status *st)
{
    struct async async;
    const struct computation *entry = &in->computation[in->entry];
    bool any = false;
    *out = (struct module){0};
    for (int32_t at = entry->first; at < entry->first + entry->count; at++)
        any = any || goes(in, at);
    if (!any)
        return 0;
    int code = async_open(&async, in, out, st);
    for (int32_t at = entry->first; at < entry->first + entry->count && code == 0; at++) {
        if (goes(in, at)) {
            async_split(&async, at);
            async_start(&async, at, "issue=\"data\"");
        }
        async_write(&async, at);
    }
    return async_close(&async, code, st);
}
