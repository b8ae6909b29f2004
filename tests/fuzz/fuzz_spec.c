/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Specs, lists of axes and replica groups, each in a line after the mesh's: what is read prints and reads back. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "notation/groups.h"
#include "notation/spec.h"

static void check_spec(const char *text, const struct axes *axes)
{
    struct status st = {0};
    struct spec spec = {0}, again = {0};
    char printed[SPEC_TEXT], twice[SPEC_TEXT];
    if (spec_parse(text, axes, &spec, &st) < 0) {
        fuzz_refused(&st);
        return;
    }
    spec_print(&spec, axes, printed);
    if (strlen(printed) + 1 >= sizeof printed)
        return; /* it may have been cut */
    fuzz_promise(spec_parse(printed, axes, &again, &st) == 0, "a spec that is printed is read", &st);
    fuzz_promise(strcmp(printed, spec_print(&again, axes, twice)) == 0, "a spec prints the same", &st);
}

static void check_list(const char *text, const struct axes *axes)
{
    struct status st = {0};
    struct axis_list list = {0};
    if (axis_list_parse(text, axes, &list, &st) < 0)
        fuzz_refused(&st);
    else
        fuzz_promise(axis_list_size(&list, axes) >= 1, "axes have devices", &st);
}

static void check_groups(const char *text, int devices)
{
    struct status st = {0};
    struct groups groups = {0};
    if (groups_parse(text, devices, &groups, &st) < 0)
        fuzz_refused(&st);
    else if (devices > 0) /* else who reads them checks them later */
        fuzz_promise(groups_check(&groups, devices, &st) == 0, "groups are right", &st);
    groups_free(&groups);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct status st = {0};
    struct axes axes = {0};
    char *text = fuzz_text(data, bytes), *rest = text;
    if (!text)
        return 0;
    if (axes_parse(fuzz_line(&rest), &axes, &st) < 0) {
        fuzz_refused(&st);
    } else {
        check_spec(fuzz_line(&rest), &axes);
        check_list(fuzz_line(&rest), &axes);
        check_groups(rest, axes_devices(&axes) <= 4096 ? axes_devices(&axes) : 0);
        check_groups(rest, 0);
    }
    free(text);
    return 0;
}
