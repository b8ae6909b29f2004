/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/platform.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "machine/route.h"

char *platform_chip_name(int chip, char name[static PLATFORM_NAME])
{
    snprintf(name, PLATFORM_NAME, "TPU:%d", chip);
    return name;
}

char *platform_link_name(const struct slice *slice, int link, char name[static PLATFORM_NAME])
{
    static const char *const kinds[] = {"hbm", "pcie", "joint", "compute"}; /* in the order of resource.h */
    int beyond = link - slice_link_ids(slice);
    if (beyond >= 0)
        snprintf(name, PLATFORM_NAME, "TPU:%d.%s", beyond % slice->chips, kinds[beyond / slice->chips]);
    else
        snprintf(name, PLATFORM_NAME, "TPU:%d.%c%c", slice_link_start(slice, link),
                 slice_axis_name(slice_link_axis(slice, link)), slice_link_sign(link) > 0 ? '+' : '-');
    return name;
}

/* The shortest text from which the same number is read back: 45000000000 and 1e-06, not
 * 9.9999999999999995e-07. */
static const char *number(double value, char text[static PLATFORM_NAME])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, PLATFORM_NAME, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return text;
}

void platform_begin(FILE *out, const char *note)
{
    fprintf(out,
            "<?xml version=\"1.0\"?>\n"
            "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            "<!-- %s -->\n"
            "<platform version=\"4.1\">\n"
            "<zone id=\"slice\" routing=\"Full\">\n",
            note);
}

void platform_host(FILE *out, const char *name, double flops)
{
    char speed[PLATFORM_NAME];
    fprintf(out, "<host id=\"%s\" speed=\"%sf\"/>\n", name, number(flops, speed));
}

void platform_link(FILE *out, const struct slice *slice, int link, double link_Bps, double latency_s)
{
    char name[PLATFORM_NAME], speed[PLATFORM_NAME], wait[PLATFORM_NAME];
    fprintf(out, "<link id=\"%s\" bandwidth=\"%sBps\" latency=\"%ss\" sharing_policy=\"SHARED\"/>\n",
            platform_link_name(slice, link, name), number(link_Bps, speed), number(latency_s, wait));
}

void platform_route(FILE *out, const struct slice *slice, const char *from, const char *to, const int link[],
                    int links)
{
    char name[PLATFORM_NAME];
    fprintf(out, "<route src=\"%s\" dst=\"%s\" symmetrical=\"NO\">", from, to);
    for (int i = 0; i < links; i++)
        fprintf(out, "<link_ctn id=\"%s\"/>", platform_link_name(slice, link[i], name));
    fputs("</route>\n", out);
}

int platform_end(FILE *out, struct status *st)
{
    fputs("</zone>\n</platform>\n", out);
    if (fflush(out) == 0 && !ferror(out))
        return 0;
    return status_fail(st, STATUS_IO, "cannot write the platform: %s", strerror(errno));
}

static const char how_to_run[] =
    "A slice of TPU chips, written by icisim. Links are one-way: latency + bytes/bandwidth of an\n"
    "     uncontended transfer needs cfg=network/model:CM02 cfg=network/TCP-gamma:0 "
    "cfg=network/crosstraffic:0\n"
    "     cfg=network/weight-S:0 cfg=network/latency-factor:1 cfg=network/bandwidth-factor:1";

static int write_routes(const struct slice *slice, FILE *out, int link[], struct status *st)
{
    char from[PLATFORM_NAME], to[PLATFORM_NAME];
    for (int a = 0; a < slice->chips; a++) {
        platform_chip_name(a, from);
        for (int b = 0; b < slice->chips; b++) {
            if (a == b)
                continue;
            struct hop hop[ROUTE_HOPS];
            int hops = route_between(slice, a, b, hop, st);
            if (hops < 0)
                return hops;
            route_walk(slice, a, hop, hops, link);
            platform_route(out, slice, from, platform_chip_name(b, to), link, route_length(hop, hops));
        }
    }
    return 0;
}

int platform_write(const struct slice *slice, double chip_flops, FILE *out, struct status *st)
{
    if (slice->chips > PLATFORM_CHIPS_MAX)
        return status_fail(st, STATUS_LIMIT,
                           "a platform lists a route for each pair of chips; export at most %d chips, not %d",
                           PLATFORM_CHIPS_MAX, slice->chips);
    int *link = malloc((size_t)slice->chips * sizeof *link); /* a shortest route passes no chip twice */
    if (!link)
        return status_nomem(st);
    char name[PLATFORM_NAME];
    platform_begin(out, how_to_run);
    for (int chip = 0; chip < slice->chips; chip++)
        platform_host(out, platform_chip_name(chip, name), chip_flops);
    for (int id = 0; id < slice_link_ids(slice); id++)
        if (slice_is_link(slice, id))
            platform_link(out, slice, id, slice_link_Bps(slice, id), slice_link_latency_s(slice, id));
    int code = write_routes(slice, out, link, st);
    free(link);
    return code < 0 ? code : platform_end(out, st);
}
