/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The SimGrid engine's row of the table. The engine itself is a module, because loading libsimgrid takes 20
 * ms, which otherwise every process would pay. It is searched relative to the file that contains this code,
 * the program or libicisim.so: beside it (a build folder), and at its place in an installation. So an
 * installation may be moved. If it is not found, the loader's usual search follows.
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/engines.h"
#include "engine/simgrid.h"
#include "engine/timing.h"

/* Folders to search, relative to the folder of the file that contains this code. */
static const char *const places[] = {
    "", "icisim/",            /* from libicisim.so */
    ICISIM_BIN_TO_MODULES "/" /* from the program */
};

/* The folder of the file that contains this code, with a slash at its end; empty if unknown. For the program
 * itself, the loader's path is not reliable, so /proc is used. */
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

/* Finds the first existing file. If that one does not load, its error is reported, and no other file is
 * tried. */
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

static int run(const struct program *program, const struct engine_limits *limits, struct trace *trace,
               struct status *st)
{
    (void)limits; /* the timer of engine_fork.c stops the process */
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
    int code = program_time(program, &expected_s, st); /* only its magnitude matters */
    /* The module stays loaded: SimGrid cannot be unloaded. */
    return code < 0 ? code : simulate(program, expected_s, trace, st);
}

/* A library that finds no memory while it is loaded ends the process: its 45 MB have to be there. */
static void prepare(void)
{
    void *volatile room = malloc(64 << 20);
    free(room);
    if (room)
        open_module(); /* if it is loaded already, this only counts a reference */
}

/* Searching for the file is faster than loading it. */
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
