/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "faces/api.h"

void icisim_result_free(struct icisim_result *result)
{
    free(result);
}

/* Not what tables only have, nor the command line, which there is none of. */
static bool is_public(const struct column *column)
{
    return column->name && column->kind != COLUMN_COMMAND;
}

static const struct column *find_column(const char *name, bool text, struct status *st)
{
    for (const struct column *column = columns; column < columns + column_count; column++) {
        if (!is_public(column) || strcmp(column->name, name) != 0)
            continue;
        if ((column->kind == COLUMN_TEXT) == text)
            return column;
        status_fail(st, STATUS_INPUT, "the column '%s' holds %s; use icisim_result_%s()", name,
                    text ? "numbers" : "text", text ? "real" : "text");
        return NULL;
    }
    status_fail(st, STATUS_INPUT, "'%s' is no column; icisim_column_name() lists them", name);
    return NULL;
}

int icisim_result_real(const struct icisim_result *result, const char *name, double *value,
                       struct icisim_status *st)
{
    struct api_call call;
    api_begin(&call);
    const struct column *column = find_column(name, false, &call.st);
    if (column)
        *value = column_value(column, &result->result);
    return api_end(&call, call.st.code, st);
}

const char *icisim_result_text(const struct icisim_result *result, const char *name, struct icisim_status *st)
{
    struct api_call call;
    api_begin(&call);
    const struct column *column = find_column(name, true, &call.st);
    api_end(&call, call.st.code, st);
    return column ? column_text(column, &result->result) : NULL;
}

static const struct column *column_at(int index)
{
    for (const struct column *column = columns; column < columns + column_count; column++)
        if (is_public(column) && index-- == 0)
            return column;
    return NULL;
}

const char *icisim_column_name(int index)
{
    const struct column *column = column_at(index);
    return column ? column->name : NULL;
}

const char *icisim_column_meaning(int index)
{
    const struct column *column = column_at(index);
    return column ? column->meaning : NULL;
}
