/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The SimGrid engine's row of the table. The engine itself is a module, because loading libsimgrid takes 20 ms,
 * which every process would pay. It is looked for near the file that this code is in, the program or
 * libicisim.so: beside it (a build folder), and where the installation has put it. So an installation may be
 * moved. If it is not there, the loader looks where it looks for any library.
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/engines.h"
#include "engine/simgrid.h"

/* Folders to look in, relative to that of the file that we are in. */
static const char *const places[] = {
    "", "icisim/",            /* from libicisim.so */
    ICISIM_BIN_TO_MODULES "/" /* from the program */
};

/* The folder of the file that we are in, with a slash at its end; empty if it cannot be told. The loader does not
 * know the program's own file by a path that can be relied on. */
static void own_folder(char folder[static PATH_MAX])
{
    Dl_info info;
    struct link_map *map = NULL;
    ssize_t n = 0;
    if (dladdr1(&engine_simgrid, &info, (void **)&map, RTLD_DL_LINKMAP) && map->l_name[0])
        n = snprintf(folder, PATH_MAX, "%s", map->l_name);
    else
        n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    folder[n > 0 && n < PATH_MAX ? n : 0] = '\0';
    char *slash = strrchr(folder, '/');
    folder[slash ? slash + 1 - folder : 0] = '\0';
}

/* The first file that is there is the one: where it does not load, its reason is what counts. */
enum { MODULE_PATH = PATH_MAX + 64 };
static bool find_module(char path[static MODULE_PATH])
{
    char folder[PATH_MAX];
    own_folder(folder);
    for (size_t i = 0; folder[0] && i < sizeof places / sizeof *places; i++) {
        snprintf(path, MODULE_PATH, "%s%s%s", folder, places[i], ENGINE_SIMGRID_MODULE);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static void *open_module(void)
{
    char path[MODULE_PATH];
    return dlopen(find_module(path) ? path : ENGINE_SIMGRID_MODULE, RTLD_NOW | RTLD_LOCAL);
}

/* How long the program takes, of which only the magnitude matters. */
static int expect(const struct program *program, double *expected_s, struct status *st)
{
    static const struct engine_limits none;
    struct trace trace;
    int code = trace_init(&trace, program, false, st);
    if (code == 0)
        code = engine_event.run(program, &none, &trace, st);
    *expected_s = trace.total_s;
    trace_free(&trace);
    return code;
}

static int run(const struct program *program, const struct engine_limits *limits, struct trace *trace,
               struct status *st)
{
    (void)limits; /* its process is stopped when the time is over */
    void *module = open_module();
    if (!module)
        return status_fail(st, STATUS_ENGINE,
                           "cannot load the SimGrid engine: %s; install the package icisim-simgrid, "
                           "put " ENGINE_SIMGRID_MODULE " beside icisim, or add --engine event",
                           dlerror());
    engine_simgrid_function *simulate;
    /* ISO C has no cast from an object's address to a function's; POSIX asks for this copy. */
    *(void **)&simulate = dlsym(module, ENGINE_SIMGRID_SYMBOL);
    if (!simulate)
        return status_fail(st, STATUS_ENGINE,
                           "the SimGrid engine is of another version: %s; reinstall icisim", dlerror());
    double expected_s;
    int code = expect(program, &expected_s, st);
    /* The module stays loaded: SimGrid cannot be unloaded. */
    return code < 0 ? code : simulate(program, expected_s, trace, st);
}

static void prepare(void)
{
    open_module(); /* a second time only counts */
}

/* To look is quicker than to load. */
static bool is_here(void)
{
    char path[MODULE_PATH];
    return find_module(path) || open_module();
}

const struct engine engine_simgrid = {
    .name = "simgrid",
    .what = "the reference: every chain of ops an actor on SimGrid's kernel",
    .is_reference = true,
    .once_a_process = true,
    .run = run,
    .prepare = prepare,
    .is_here = is_here,
};
