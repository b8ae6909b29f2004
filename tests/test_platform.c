/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The slice as a platform of SimGrid's: its text, and what SimGrid makes of it. */
#include "suite.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/platform.h"
#include "machine/route.h"

/* SimGrid itself, as the module loads it: its functions by name, for this suite includes no header of it. */
struct kernel {
    void (*init)(int *argc, char **argv);
    void (*load)(const char *path);
    void *(*host)(const char *name);
    size_t (*hosts)(void);
    double (*latency_s)(const void *from, const void *to);
    double (*width_Bps)(const void *from, const void *to);
};

static bool open_kernel(struct kernel *kernel)
{
    static const char *const names[] = {
        "simgrid_init",  "simgrid_load_platform",     "sg_host_by_name",
        "sg_host_count", "sg_host_get_route_latency", "sg_host_get_route_bandwidth"};
    void **slot[] = {(void **)&kernel->init,  (void **)&kernel->load,      (void **)&kernel->host,
                     (void **)&kernel->hosts, (void **)&kernel->latency_s, (void **)&kernel->width_Bps};
    char path[PATH_MAX + 32] = "";
    if (readlink("/proc/self/exe", path, PATH_MAX) < 0 || !strrchr(path, '/'))
        return false;
    strcpy(strrchr(path, '/') + 1, "icisim_simgrid.so");
    void *module = dlopen(path, RTLD_NOW);
    for (size_t i = 0; module && i < sizeof names / sizeof *names; i++)
        if (!(*slot[i] = dlsym(module, names[i])))
            return false;
    return module != NULL;
}

/* Loads the platform in SimGrid and compares every pair's latency and bandwidth with our routes; runs in a
 * process of its own. Exit status: 0, or what failed. */
static int load_in_simgrid(const char *path, const struct slice *slice)
{
    struct kernel kernel;
    if (!open_kernel(&kernel))
        return 2;
    char *argv[] = {"test",
                    "--log=root.thres:critical",
                    "--cfg=network/model:CM02",
                    "--cfg=network/latency-factor:1",
                    "--cfg=network/bandwidth-factor:1",
                    NULL};
    int argc = 5;
    kernel.init(&argc, argv);
    kernel.load(path);
    if (kernel.hosts() != (size_t)slice->chips)
        return 3;
    for (int a = 0; a < slice->chips; a++) {
        for (int b = 0; b < slice->chips; b++) {
            char from[PLATFORM_NAME], to[PLATFORM_NAME];
            const void *src = kernel.host(platform_chip_name(a, from)),
                       *dst = kernel.host(platform_chip_name(b, to));
            struct minimal_route minimal[MINIMAL_ROUTES];
            route_minimal(slice, a, b, minimal);
            double want_s = slice->hop_latency_s * route_length(minimal[0].hop, minimal[0].hops);
            if (a != b && fabs(kernel.latency_s(src, dst) - want_s) > 1e-12 * want_s)
                return 4;
            if (a != b && fabs(kernel.width_Bps(src, dst) - slice->link_Bps) > 1e-12 * slice->link_Bps)
                return 5;
        }
    }
    return 0;
}

static void platform_loads(void)
{
    struct slice slice;
    struct status st = {0};
    const int len[SLICE_AXES] = {2, 3, 4};
    const bool wrap[SLICE_AXES] = {true, false, true};
    OKAY(slice_init(&slice, 3, len, wrap, 45e9, 1e-6, &st), st);
    char path[] = "/tmp/icisim-platform-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    OKAY(platform_write(&slice, 197e12, file, &st), st);
    fclose(file);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(load_in_simgrid(path, &slice));
    int how = -1;
    waitpid(child, &how, 0);
    unlink(path);
    CU_ASSERT(WIFEXITED(how));
    CU_ASSERT_EQUAL(WEXITSTATUS(how), 0);
}

static void platform_text(void)
{
    struct slice slice;
    struct status st = {0};
    const int len[SLICE_AXES] = {2, 1, 1}, large[SLICE_AXES] = {1025, 1, 1};
    const bool line[SLICE_AXES] = {false, false, false};
    OKAY(slice_init(&slice, 1, len, line, 45e9, 1e-6, &st), st);
    char *text = NULL;
    size_t n = 0;
    FILE *file = open_memstream(&text, &n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    OKAY(platform_write(&slice, 197e12, file, &st), st);
    fclose(file);
    const char *zone = strstr(text, "<zone");
    CU_ASSERT_PTR_NOT_NULL_FATAL(zone);
    CU_ASSERT_STRING_EQUAL(
        zone,
        "<zone id=\"slice\" routing=\"Full\">\n"
        "<host id=\"TPU:0\" speed=\"197000000000000f\"/>\n"
        "<host id=\"TPU:1\" speed=\"197000000000000f\"/>\n"
        "<link id=\"TPU:0.x+\" bandwidth=\"45000000000Bps\" latency=\"1e-06s\" sharing_policy=\"SHARED\"/>\n"
        "<link id=\"TPU:1.x+\" bandwidth=\"45000000000Bps\" latency=\"1e-06s\" sharing_policy=\"SHARED\"/>\n"
        "<route src=\"TPU:0\" dst=\"TPU:1\" symmetrical=\"NO\"><link_ctn id=\"TPU:0.x+\"/></route>\n"
        "<route src=\"TPU:1\" dst=\"TPU:0\" symmetrical=\"NO\"><link_ctn id=\"TPU:1.x+\"/></route>\n"
        "</zone>\n</platform>\n");
    free(text);
    OKAY(slice_init(&slice, 1, large, line, 45e9, 1e-6, &st), st);
    CU_ASSERT_EQUAL(platform_write(&slice, 1, stdout, &st), STATUS_LIMIT);
}

SUITE("platform", TEST(platform_loads), TEST(platform_text))
