/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/kind.h"

#include "base/document.h"
#include "collective/collective.h"
#include "hlo/hlo_read.h"
#include "notation/expr.h"
#include "settings/option.h"

unsigned workload_kind(const char *op)
{
    struct status unknown = {0};
    if (document_is_path(op))
        return ON_MODEL;
    if (hlo_is_path(op))
        return ON_TEXT;
    if (expr_is(op))
        return ON_MATMUL;
    const struct collective *collective = collective_by_name(op, &unknown);
    return collective ? 1u << collective->id : (unsigned)ON_ANY;
}
