/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/rates.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

/* "int32=19.17Tflops,bf16=197Tflops" */
static int read_peaks(const char *text, double peak_flops[DTYPE_COUNT], struct status *st)
{
    for (const char *at = text; at && *at;) {
        char name[32], rate[32];
        double flops;
        size_t length = strcspn(at, ","), key = strcspn(at, "=,");
        if (key >= length || key >= sizeof name || length - key > sizeof rate)
            return status_fail(st, STATUS_INPUT, "--peak '%s': write TYPE=RATE, such as int32=19.17Tflops",
                               text);
        snprintf(name, sizeof name, "%.*s", (int)key, at);
        snprintf(rate, sizeof rate, "%.*s", (int)(length - key - 1), at + key + 1);
        int id = dtype_by_name(name, st);
        if (id < 0 || units_parse_rate("--peak", rate, &flops, st) < 0)
            return status_prefix(st, st->code == STATUS_INPUT && id < 0 ? "--peak: " : "");
        if (!(flops > 0))
            return status_fail(st, STATUS_INPUT, "--peak '%s': a rate must be above 0", text);
        peak_flops[id] = flops;
        at += length + (at[length] == ',');
    }
    return 0;
}

int rates_read(struct roofline *roofline, const struct point *point, const struct chip *chip,
               struct status *st)
{
    roofline_init(roofline, chip);
    if (!isnan(point->machine.matmul_efficiency))
        roofline->efficiency = point->machine.matmul_efficiency;
    if (!isnan(point->machine.launch_overhead_s))
        roofline->launch_s = point->machine.launch_overhead_s;
    roofline->mxu_padding = point->machine.mxu_padding;
    roofline->passes = precision_passes((enum precision)point->machine.precision);
    return read_peaks(point->machine.peak, roofline->peak_flops, st);
}
