/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * failing_malloc: preloaded before the program (LD_PRELOAD), lets one allocation fail, and says what has not been freed.
 *
 *     ICISIM_FAIL_AT=N      the Nth allocation returns NULL; 0: none
 *     ICISIM_FAIL_REPORT=F  at the end, F gets a line: allocations, blocks that the program has not freed, those of libc
 *
 * Counted are calls from the program itself, from libc, which works for it (strdup, open_memstream, fopen), and from SimGrid
 * and libstdc++. Those of the other libraries are left alone: libyaml loses memory and crashes where it runs out, GSL
 * does not look (what it takes is tried before, study/fit.c), and yajl and libcsv take what they need from here in the program's name or not at all; all of them get little, as what
 * they read is bounded before.
 *
 * There is one thread, for no other is to be had: what would go at once follows one another. Processes that are forked count
 * together, so that one allocation fails, in one of them; the report has what the first one leaves.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* glibc's own, which what is preloaded may call. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void __libc_free(void *block);

enum owner { OTHER, PROGRAM, LIBC, SIMGRID, CXX, OWNERS };

/* Blocks that are there: an open-addressed set, in which what was freed leaves a mark. */
enum { SLOTS = 1 << 21 };
struct block {
    uintptr_t at;
    const void *caller;
    enum owner owner;
};
static const uintptr_t freed = 1;

static struct {
    struct {
        uintptr_t first, last;
    } code[OWNERS];
    long fail_at, live[OWNERS];
    _Atomic long *calls; /* of all processes */
    struct block block[SLOTS];
} shim;

static size_t slot_of(uintptr_t at)
{
    return (size_t)((at >> 4) * 0x9e3779b97f4a7c15u >> 40) % SLOTS;
}

static enum owner owner_of(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    for (int o = PROGRAM; o < OWNERS; o++)
        if (at >= shim.code[o].first && at < shim.code[o].last)
            return (enum owner)o;
    return OTHER;
}

/* Is it this one that fails? */
static bool fails(const void *caller)
{
    if (!shim.calls || owner_of(caller) == OTHER || ++*shim.calls != shim.fail_at)
        return false;
    errno = ENOMEM;
    return true;
}

static void *keep(void *block, const void *caller)
{
    enum owner owner = owner_of(caller);
    if (!block || owner == OTHER)
        return block;
    size_t s = slot_of((uintptr_t)block);
    while (shim.block[s].at > freed)
        s = (s + 1) % SLOTS;
    shim.block[s] = (struct block){(uintptr_t)block, caller, owner};
    shim.live[owner]++;
    return block;
}

static void drop(void *block)
{
    for (size_t s = slot_of((uintptr_t)block); block && shim.block[s].at; s = (s + 1) % SLOTS)
        if (shim.block[s].at == (uintptr_t)block) {
            shim.live[shim.block[s].owner]--;
            shim.block[s].at = freed;
            return;
        }
}

void *malloc(size_t bytes)
{
    const void *caller = __builtin_return_address(0);
    return fails(caller) ? NULL : keep(__libc_malloc(bytes), caller);
}

void *calloc(size_t n, size_t bytes)
{
    const void *caller = __builtin_return_address(0);
    return fails(caller) ? NULL : keep(__libc_calloc(n, bytes), caller);
}

void *realloc(void *block, size_t bytes)
{
    const void *caller = __builtin_return_address(0);
    if (fails(caller))
        return NULL;
    drop(block);
    return keep(__libc_realloc(block, bytes), caller);
}

void free(void *block)
{
    drop(block);
    __libc_free(block);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *context)
{
    (void)thread, (void)attr, (void)start, (void)context;
    return EAGAIN;
}

/* Whose code an object is. The program comes first, and has no name. */
static enum owner owner_of_object(const char *path)
{
    static const struct {
        const char *part;
        enum owner owner;
    } name[] = {{"/libc.so", LIBC},
                {"/icisim_simgrid.so", SIMGRID},
                {"/libsimgrid.so", SIMGRID},
                {"/libstdc++.so", CXX}};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (strstr(path, name[i].part))
            return name[i].owner;
    return path[0] == '\0' ? PROGRAM : OTHER;
}

static int find_code(struct dl_phdr_info *object, size_t bytes, void *context)
{
    (void)bytes;
    (void)context;
    enum owner owner = owner_of_object(object->dlpi_name);
    for (int p = 0; p < object->dlpi_phnum && owner != OTHER; p++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[p];
        uintptr_t first = object->dlpi_addr + part->p_vaddr, last = first + part->p_memsz;
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) && shim.code[owner].last == 0) {
            shim.code[owner].first = first;
            shim.code[owner].last = last;
        }
    }
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("ICISIM_FAIL_AT");
    dl_iterate_phdr(find_code, NULL);
    shim.calls = mmap(NULL, sizeof *shim.calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shim.fail_at = at ? strtol(at, NULL, 10) : 0;
}

__attribute__((destructor)) static void end(void)
{
    char line[160];
    const char *path = getenv("ICISIM_FAIL_REPORT");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (fd < 0)
        return;
    int n = snprintf(line, sizeof line, "%ld %ld %ld", *shim.calls, shim.live[PROGRAM], shim.live[LIBC]);
    for (size_t s = 0; shim.live[PROGRAM] > 0 && s < SLOTS && n < (int)sizeof line - 24; s++)
        if (shim.block[s].at > freed && shim.block[s].owner == PROGRAM)
            n += snprintf(line + n, sizeof line - (size_t)n, " %#zx",
                          (uintptr_t)shim.block[s].caller - shim.code[PROGRAM].first);
    if (write(fd, line, (size_t)n) != n)
        _exit(3);
    close(fd);
}
