/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>

#include "base/version.h"
#include "faces/api.h"

_Static_assert((int)ICISIM_OK == (int)STATUS_OK && (int)ICISIM_INPUT == (int)STATUS_INPUT &&
                   (int)ICISIM_LIMIT == (int)STATUS_LIMIT && (int)ICISIM_IO == (int)STATUS_IO &&
                   (int)ICISIM_NOMEM == (int)STATUS_NOMEM && (int)ICISIM_ENGINE == (int)STATUS_ENGINE &&
                   (int)ICISIM_CHECK == (int)STATUS_CHECK,
               "public codes are ours");
_Static_assert((int)ICISIM_STATUS_TEXT >= (int)sizeof(((struct status *)0)->text), "a text fits");

struct api_call api_begin(void)
{
    /* glibc has the C locale built in: this allocates nothing, and nothing is freed */
    int number = errno;
    return (struct api_call){.before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0)), .number = number};
}

bool api_given(struct api_call *call, bool all)
{
    if (!all)
        status_fail(&call->st, STATUS_INPUT, "a handle, or a text, is NULL");
    return all;
}

int api_end(struct api_call *call, int code, struct icisim_status *st)
{
    code = code == STATUS_MEMORY ? ICISIM_LIMIT : code == STATUS_UNEVEN ? ICISIM_INPUT : code;
    uselocale(call->before);
    if (st) {
        st->code = code < 0 ? code : ICISIM_OK;
        snprintf(st->text, sizeof st->text, "%s", code < 0 ? call->st.text : "");
    }
    errno = call->number;
    return code;
}

const char *icisim_code_name(int code)
{
    return status_name(code);
}

const char *icisim_version(void)
{
    return version_parts[0].version;
}
