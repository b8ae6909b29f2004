/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/memory_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* A number of a file in /proc, of so many bytes each, in bytes; `none` if it is not there. */
static uint64_t read_bytes(const char *path, const char *format, uint64_t each_bytes, uint64_t none)
{
    char line[256];
    uint64_t number, bytes = none;
    FILE *in = fopen(path, "re");
    while (in && fgets(line, sizeof line, in))
        if (sscanf(line, format, &number) == 1) {
            bytes = number * each_bytes;
            break;
        }
    if (in)
        fclose(in);
    return bytes;
}

uint64_t memory_free_bytes(void)
{
    return read_bytes("/proc/meminfo", "MemAvailable: %" SCNu64 " kB", 1024, UINT64_MAX);
}

static void set_soft_limit(rlim_t bytes)
{
    struct rlimit data;
    if (getrlimit(RLIMIT_DATA, &data) != 0)
        return;
    data.rlim_cur = bytes < data.rlim_max ? bytes : data.rlim_max;
    setrlimit(RLIMIT_DATA, &data);
}

void memory_hold(uint64_t bytes)
{
    /* What a sanitizer reserves is more than any machine has, and it cannot do without more. */
    static const uint64_t absurd = (uint64_t)1 << 42;
    /* The sixth number is data and stack, in pages; /proc/self/status has more to say, and takes longer. */
    uint64_t taken = read_bytes("/proc/self/statm", "%*s %*s %*s %*s %*s %" SCNu64,
                                (uint64_t)sysconf(_SC_PAGESIZE), absurd);
    if (taken < absurd && bytes < absurd)
        set_soft_limit(taken + bytes);
}

void memory_release(void)
{
    set_soft_limit(RLIM_INFINITY);
}
