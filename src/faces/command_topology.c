/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim topology: describes a slice, and exports it as a SimGrid platform. */
#include <math.h>
#include <string.h>

#include "base/output.h"
#include "base/text.h"
#include "base/units.h"
#include "engine/platform.h"
#include "faces/command.h"
#include "machine/defects.h"
#include "report/table.h"
#include "study/machine.h"

static const char *print_lengths(const int len[], int axes, char text[static SLICE_TEXT])
{
    int n = 0;
    for (int a = 0; a < axes; a++)
        n += snprintf(text + n, (size_t)(SLICE_TEXT - n), "%s%d", a ? "x" : "", len[a]);
    return text;
}

static void show_axes(const struct slice *slice)
{
    printf("axes       ");
    for (int a = 0; a < slice->axes; a++) {
        const char *kind = slice->len[a] == 1             ? "alone"
                           : !slice_is_straight(slice, a) ? "twisted"
                           : slice_ring(slice, a)         ? "ring"
                                                          : "line";
        printf("%s%c=%d (%s)", a ? ", " : "", slice_axis_name(a), slice->len[a], kind);
    }
    putchar('\n');
}

static void show_links(const struct chip *chip, const struct slice *slice)
{
    char link[UNITS_TEXT], nominal[UNITS_TEXT], hop[UNITS_TEXT], cut[UNITS_TEXT];
    int links = slice_count_links(slice), least = 2 * SLICE_AXES, most = 0;
    for (int c = 0; c < slice->chips; c++) {
        int ports = slice_count_ports(slice, c);
        least = ports < least ? ports : least;
        most = ports > most ? ports : most;
    }
    printf("links      %d one-way (%d cables); ", links, links / 2);
    printf(least == most ? "%d out of each chip\n" : "%d to %d out of a chip\n", least, most);
    printf("each link  %s one way, %s a hop", units_print_bandwidth(slice->link_Bps, link),
           units_print_time(slice->hop_latency_s, hop));
    if (!isnan(chip->link_nominal_Bps))
        printf(" (nominal %s)", units_print_bandwidth(chip->link_nominal_Bps, nominal));
    printf("\nbisection  %s one way over the cheapest plane cut\n",
           units_print_bandwidth(slice_bisection_Bps(slice), cut));
}

/* The host's shape along the slice's axes, which may name them in another order: v5e's hosts of 4x2 lie as
 * 2x4 in a slice of 2x8. Returns false if whole hosts do not fill the slice. */
static bool lay_hosts(const struct chip *chip, const struct slice *slice, int host[static SLICE_AXES])
{
    static const int order[][SLICE_AXES] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}};
    for (size_t o = 0; o < sizeof order / sizeof *order; o++) {
        bool fills = true;
        for (int a = 0; a < SLICE_AXES; a++) {
            host[a] = order[o][a] < chip->axes ? chip->host[order[o][a]] : 1;
            fills &= slice->len[a] % host[a] == 0;
        }
        if (fills)
            return true;
    }
    return false;
}

/* Hosts are numbered as chips are: row by row. */
static int host_of(const struct slice *slice, const int host[], int chip)
{
    int index = 0;
    for (int a = 0; a < SLICE_AXES; a++)
        index = index * (slice->len[a] / host[a]) + slice_coord(slice, chip, a) / host[a];
    return index;
}

/* Lists the hosts; for large slices only counts them. */
static void show_hosts(const struct chip *chip, const struct slice *slice)
{
    enum { LISTED = 16 };
    char shape[SLICE_TEXT];
    int host[SLICE_AXES];
    if (!lay_hosts(chip, slice, host)) {
        printf("hosts      of %s chips; they do not fill this slice\n",
               print_lengths(chip->host, chip->axes, shape));
        return;
    }
    int hosts = host_of(slice, host, slice->chips - 1) + 1;
    printf("hosts      %d of %s chips\n", hosts, print_lengths(host, slice->axes, shape));
    for (int h = 0; h < hosts && hosts <= LISTED; h++) {
        printf("host %-5d chips", h);
        for (int c = 0; c < slice->chips; c++)
            if (host_of(slice, host, c) == h)
                printf(" %d", c);
        putchar('\n');
    }
}

static int show_sources(const struct chip *chip, struct status *st)
{
    struct table table = table_of("number, value, source");
    printf("# the chip's numbers (%s profile) and where they are from\n", chip_profile_names[chip->profile]);
    for (int i = 0; i < chip->facts; i++)
        table_row(&table, chip->fact[i].key, chip->fact[i].value, chip->fact[i].source);
    return table_end(&table, stdout, st);
}

/* Reads "a=2", sizes of mesh axes across slices (DCN): all axes in mesh order, 1 for those not named. */
static int read_dcn(const struct machine *machine, const char *text, struct axes *dcn, struct status *st)
{
    struct axes said;
    *dcn = machine->mesh.axes;
    if (axes_parse(text, &said, st) < 0)
        return status_prefix(st, "--dcn-mesh: ");
    for (int a = 0; a < said.count; a++)
        if (axes_find(dcn, said.axis[a].name) < 0)
            return status_fail(st, STATUS_INPUT,
                               "--dcn-mesh: --mesh has no axis %s; write a=2 for one that it has",
                               said.axis[a].name);
    for (int a = 0; a < dcn->count; a++) {
        int of = axes_find(&said, dcn->axis[a].name);
        dcn->axis[a].n = of < 0 ? 1 : said.axis[of].n;
    }
    return axes_devices(dcn) <= AXES_DEVICES_MAX / machine->mesh.devices
               ? 0
               : status_fail(st, STATUS_LIMIT, "--dcn-mesh: more than %d devices", AXES_DEVICES_MAX);
}

static int show(const struct machine *machine, const struct point *point, struct status *st)
{
    enum { SHOWN = 1 << 20 };
    struct axis_list list = {0};
    if (machine->slice.chips > SHOWN)
        return status_fail(st, STATUS_LIMIT,
                           "this slice has %d chips; %d are shown at most; take a smaller slice",
                           machine->slice.chips, SHOWN);
    if (point->work.axis && mesh_parse_axes(&machine->mesh, point->work.axis, &list, st) < 0)
        return status_prefix(st, "--axis: ");
    const struct chip *chip = machine->chip;
    const struct slice *slice = &machine->slice;
    char shape[SLICE_TEXT], pod[SLICE_TEXT], wrap[SLICE_TEXT];
    printf("slice      %s %s, %d chips (pod %s)\n", chip->name, slice_print_shape(slice, shape), slice->chips,
           print_lengths(chip->pod, chip->axes, pod));
    show_axes(slice);
    printf("wrap       %s (by itself: %s)\n", slice_print_wrap(slice, wrap), chip_wrap_names[chip->wrap]);
    show_links(chip, slice);
    defects_show(slice, stdout);
    show_hosts(chip, slice);
    struct axes dcn;
    int code = point->machine.dcn_mesh ? read_dcn(machine, point->machine.dcn_mesh, &dcn, st) : 0;
    if (code == 0 && (point->machine.mesh || point->work.axis))
        code = mesh_show(&machine->mesh, &list, point->machine.dcn_mesh ? &dcn : NULL, stdout, st);
    return code < 0 ? code : show_sources(chip, st);
}

/* SimGrid's hosts need a speed: the bf16 speed of the chip, if known. */
static int export(const struct machine *machine, const char *path, struct status *st)
{
    struct output output = {0};
    double flops;
    if (chip_peak(machine->chip, DTYPE_BF16, &flops, st) == 0 && output_open(&output, path, st) == 0 &&
        platform_write(&machine->slice, flops, output.file, st) == 0)
        output_commit(&output, st);
    output_abandon(&output);
    return st->code;
}

static int topology(struct settings *settings, struct status *st)
{
    static const char *const actions[] = {"show", "export", NULL};
    const char *action = settings_text(settings, "action");
    struct catalog catalog = {0};
    struct machine machine = {0};
    struct grid grid;
    if (!action)
        return status_fail(st, STATUS_INPUT,
                           "topology: show or export? write icisim topology show --slice 4x4");
    if (text_choice("action of topology", action, actions, st) < 0)
        return st->code;
    if (strcmp(action, "export") == 0 && settings_count(settings, "axis") > 0)
        return status_fail(st, STATUS_INPUT, "--axis does not apply to topology export; leave it out");
    if (settings_check(settings, st) < 0 || grid_init(&grid, settings, st) < 0)
        return st->code;
    for (int64_t i = 0; i < grid.points && st->code == 0; i++) {
        struct point point;
        grid_point(&grid, i, &point);
        if (machine_open(&machine, &point, &catalog, st) == 0 && strcmp(action, "show") == 0)
            show(&machine, &point, st);
        else if (st->code == 0)
            export(&machine, settings_text(settings, "output"), st);
        machine_close(&machine);
    }
    catalog_free(&catalog);
    return st->code;
}

const struct command command_topology = {
    .name = "topology",
    .arguments = "show|export",
    .what = "shows a slice: chips, axes, wraps, links, bisection, hosts, the sources of its numbers",
    .more = "--mesh shows which chip is where and what each edge of its rings costs in links; --axis tp,dp "
            "those of the ring over both, in that order. export writes the slice as a SimGrid platform (XML "
            "4.1) to --output.",
    .bit = FOR_TOPOLOGY,
    .run = topology,
};
