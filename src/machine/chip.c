/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/chip.h"

#include <math.h>
#include <string.h>

#include "machine/topology.h"

const struct chip_fact *chip_fact(const struct chip *chip, const char *key)
{
    for (int i = 0; i < chip->facts; i++)
        if (strcmp(chip->fact[i].key, key) == 0)
            return &chip->fact[i];
    return NULL;
}

int chip_peak(const struct chip *chip, enum dtype_id dtype, double *flops, struct status *st)
{
    const struct dtype *info = dtype_info(dtype);
    double own = chip->peak_flops[dtype], lent = chip->peak_flops[info->rate];
    if (isnan(own) && isnan(lent))
        return status_fail(
            st, STATUS_INPUT,
            "%s: the %s profile has no peak rate for %s; give one, such as --peak %s=100Tflops", chip->name,
            chip_profile_names[chip->profile], info->name, info->name);
    *flops = isnan(own) ? lent : own;
    return 0;
}

/* Between two steps the time, work / efficiency, is interpolated linearly; if the efficiency were
 * interpolated instead, more work could take less time. The first line also extends below the first step,
 * where it gives the fixed cost of a matmul with little work. */
static double efficiency_of(const struct chip_efficiency *e, double work)
{
    int last = e->steps - 1, i = 0;
    if (e->steps == 0)
        return 1;
    if (last == 0 || work >= e->work[last])
        return e->frac[last];
    while (work >= e->work[i + 1])
        i++;
    double first = e->work[i] / e->frac[i], second = e->work[i + 1] / e->frac[i + 1];
    double slope = (second - first) / (e->work[i + 1] - e->work[i]);
    double fixed = first - slope * e->work[i];
    bool small = work < e->work[0];
    return small && (fixed <= 0 || !(work > 0)) ? e->frac[0] : work / (fixed + slope * work);
}

double chip_matmul_efficiency(const struct chip *chip, enum dtype_id dtype, double flop)
{
    return efficiency_of(&chip->efficiency[dtype], flop);
}

double chip_hbm_limit_bytes(const struct chip *chip)
{
    return (double)(chip->hbm_limit_bytes ? chip->hbm_limit_bytes : chip->hbm_bytes);
}

double chip_device_hbm_bytes(const struct chip *chip)
{
    return chip_hbm_limit_bytes(chip) / (chip->cores > 1 ? chip->cores : 1);
}

double chip_hbm_efficiency(const struct chip *chip, double bytes)
{
    return efficiency_of(&chip->hbm_efficiency, bytes);
}

double chip_attention_efficiency(const struct chip *chip, double width, double causal_length)
{
    const double block = 512; /* the default of MaxText and of the kernel */
    double diagonal = causal_length > 0 ? causal_length / (causal_length + block) : 1;
    return chip->attention_efficiency.steps ? efficiency_of(&chip->attention_efficiency, width) * diagonal
                                            : NAN;
}

/* Finds the axes of a slice that wrap by the chip's rule. Axes of length 1 and 2 have no ends to join. */
static void find_wraps(const struct chip *chip, int axes, const int len[], bool wrap[static SLICE_AXES])
{
    int slice[SLICE_AXES], pod[SLICE_AXES];
    slice_sort_lengths(len, axes, slice);
    slice_sort_lengths(chip->pod, chip->axes, pod);
    bool cubes = axes == SLICE_AXES, full_pod = memcmp(slice, pod, sizeof slice) == 0;
    for (int a = 0; a < axes; a++)
        cubes = cubes && len[a] % 4 == 0;
    for (int a = 0; a < SLICE_AXES; a++) {
        const bool joined[] = {[CHIP_WRAP_FULL_POD] = full_pod,
                               [CHIP_WRAP_CUBES] = cubes,
                               [CHIP_WRAP_AXIS_16] = a < axes && len[a] == 16,
                               [CHIP_WRAP_ALWAYS] = true,
                               [CHIP_WRAP_NEVER] = false};
        wrap[a] = joined[chip->wrap] && a < axes && len[a] > 2;
    }
}

/* Reads the value of --wrap: "none", "all", or names of axes, "x,z". */
static int parse_wrap(const char *text, int axes, bool wrap[static SLICE_AXES], struct status *st)
{
    bool all = strcmp(text, "all") == 0;
    for (int a = 0; a < SLICE_AXES; a++)
        wrap[a] = all && a < axes;
    if (all || strcmp(text, "none") == 0)
        return 0;
    for (const char *at = text;; at += 2) {
        int axis = slice_axis_by_name(at[0]);
        if (axis < 0 || (at[1] && at[1] != ','))
            return status_fail(st, STATUS_INPUT, "wrap '%s': write none, all, or axes such as x,z", text);
        if (axis >= axes)
            return status_fail(st, STATUS_INPUT, "wrap '%s': axis %c is not there; the slice has x to %c",
                               text, at[0], slice_axis_name(axes - 1));
        wrap[axis] = true;
        if (!at[1])
            return 0;
    }
}

/* Fails unless a shape fits in the pod of the chip, in some order of its axes. */
static int check_pod(const struct chip *chip, const char *shape, int axes, const int len[], struct status *st)
{
    int slice[SLICE_AXES], pod[SLICE_AXES];
    char pod_text[SLICE_TEXT];
    struct slice box = {.axes = chip->axes};
    memcpy(box.span, chip->pod, sizeof box.span);
    slice_print_shape(&box, pod_text);
    if (axes > chip->axes)
        return status_fail(
            st, STATUS_INPUT,
            "slice %s has %d axes, but %s has %d; write a shape such as 4x4, up to the pod of %s", shape,
            axes, chip->name, chip->axes, pod_text);
    slice_sort_lengths(len, axes, slice);
    slice_sort_lengths(chip->pod, chip->axes, pod);
    for (int a = 0; a < SLICE_AXES; a++)
        if (slice[a] > pod[a])
            return status_fail(st, STATUS_INPUT,
                               "slice %s is larger than the %s pod of %s (in any order of its axes)", shape,
                               chip->name, pod_text);
    return 0;
}

/* Sets the topology that the shape names, or else the one of the chip's slices of that shape. */
static int choose_topology(const struct chip *chip, const char *shape, struct slice *slice, struct status *st)
{
    const struct topology *named = slice_parse_topology(shape, st);
    bool cubes = true;
    if (!named)
        return st->code;
    slice->topology = named;
    if (strchr(shape, '_'))
        return named == &topology_twisted ? slice_twist(slice, true, st) : 0;
    for (int a = 0; a < slice->axes; a++)
        cubes &= slice->len[a] % 4 == 0;
    return chip->twist == CHIP_TWIST_DOUBLED && cubes && slice_can_twist(slice) ? slice_twist(slice, true, st)
                                                                                : 0;
}

int chip_slice(const struct chip *chip, const char *shape, const char *wrap, struct slice *slice,
               struct status *st)
{
    int len[SLICE_AXES];
    bool joined[SLICE_AXES];
    *slice = (struct slice){0};
    int axes = slice_parse_shape(shape, len, st);
    if (axes < 0)
        return axes;
    int code = check_pod(chip, shape, axes, len, st);
    if (code < 0)
        return code;
    find_wraps(chip, axes, len, joined);
    if (wrap)
        code = parse_wrap(wrap, axes, joined, st);
    if (code < 0)
        return code;
    code = slice_init(slice, axes, len, joined, chip->link_Bps, chip->hop_latency_s, st);
    slice->joint_Bps = chip->joint_Bps;
    if (code == 0)
        code = choose_topology(chip, shape, slice, st);
    slice->reduce_Bps = chip->reduce_Bps;
    slice->trays = chip->trays;
    if (chip->hbm_Bps > 0)
        slice->hbm_Bps = chip->hbm_Bps * chip_hbm_efficiency(chip, INFINITY);
    if (chip->pcie_Bps > 0)
        slice->pcie_Bps = chip->pcie_Bps;
    return code;
}
