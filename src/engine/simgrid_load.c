/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The SimGrid engine's row of the table. The engine itself is a module, because loading libsimgrid takes
 * 20 ms, which every process would pay. It is looked for beside the program (a build folder), where the
 * program's installation puts it (../lib or ../lib/ARCHITECTURE, in a folder icisim), and then wherever the
 * loader looks.
 */
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/engines.h"
#include "engine/simgrid.h"

/* Relative to the folder of the program; a pattern of glob(3). */
static const char *const places[] = {"", "../lib*/icisim/", "../lib*/*/icisim/"};

/* The folder of the program, with a slash at its end; empty if it cannot be told. */
static void program_folder(char folder[static PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    folder[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[1] = '\0';
    else
        folder[0] = '\0';
}

/* The first file that is there is the one: where it does not load, its reason is what counts. */
static void *open_module(void)
{
    char folder[PATH_MAX], pattern[PATH_MAX + 64];
    program_folder(folder);
    for (size_t i = 0; folder[0] && i < sizeof places / sizeof *places; i++) {
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s%s%s", folder, places[i], ENGINE_SIMGRID_MODULE);
        if (glob(pattern, 0, NULL, &found) == 0) {
            void *module = dlopen(found.gl_pathv[0], RTLD_NOW | RTLD_LOCAL);
            globfree(&found);
            return module;
        }
    }
    return dlopen(ENGINE_SIMGRID_MODULE, RTLD_NOW | RTLD_LOCAL);
}

static int run(const struct program *program, struct trace *trace, struct status *st)
{
    void *module = open_module();
    if (!module)
        return status_fail(st, STATUS_ENGINE,
                           "cannot load the SimGrid engine: %s; put " ENGINE_SIMGRID_MODULE
                           " beside icisim, or add --engine event",
                           dlerror());
    engine_simgrid_function *simulate;
    /* ISO C has no cast from an object's address to a function's; POSIX asks for this copy. */
    *(void **)&simulate = dlsym(module, ENGINE_SIMGRID_SYMBOL);
    if (!simulate)
        return status_fail(st, STATUS_ENGINE,
                           "the SimGrid engine is of another version: %s; reinstall icisim", dlerror());
    return simulate(program, trace, st); /* the module stays loaded: SimGrid cannot be unloaded */
}

static void prepare(void)
{
    open_module(); /* a second time only counts */
}

const struct engine engine_simgrid = {
    .name = "simgrid",
    .what = "the reference: every chain of ops an actor on SimGrid's kernel",
    .once_a_process = true,
    .run = run,
    .prepare = prepare,
};
