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
    struct edit edit;
    const struct computation *entry = &in->computation[in->entry];
    bool any = false;
    *out = (struct module){0};
    for (int32_t at = entry->first; at < entry->first + entry->count; at++)
        any = any || goes(in, at);
    if (!any)
        return 0;
    int code = edit_open(&edit, in, out, st);
    if (code == 0) {
        edit_copy_called(&edit);
        edit_begin(&edit, in->entry);
    }
    for (int32_t at = entry->first; at < entry->first + entry->count && code == 0; at++) {
        if (goes(in, at))
            async_done(&edit, at, async_start(&edit, at, "issue=\"data\""));
        else
            edit_copy(&edit, at);
    }
    int closed = edit_close(&edit, st);
    return code < 0 ? code : closed;
}
