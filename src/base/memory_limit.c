/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/memory_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

/* Finds the line of a file in /proc that matches the format, and returns its kilobytes as bytes; UINT64_MAX
 * if no line matches. */
static uint64_t read_bytes(const char *path, const char *format)
{
    char line[256];
    uint64_t kib, bytes = UINT64_MAX;
    FILE *in = fopen(path, "re");
    while (in && bytes == UINT64_MAX && fgets(line, sizeof line, in))
        if (sscanf(line, format, &kib) == 1)
            bytes = kib * 1024;
    if (in)
        fclose(in);
    return bytes;
}

uint64_t memory_free_bytes(void)
{
    return read_bytes("/proc/meminfo", "MemAvailable: %" SCNu64 " kB");
}

uint64_t memory_peak_bytes(void)
{
    uint64_t peak = read_bytes("/proc/self/status", "VmHWM: %" SCNu64 " kB");
    return peak == UINT64_MAX ? 0 : peak;
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
    /* A sanitizer reserves more address space than any machine has and still needs more, so there a limit
     * cannot be set. */
    static const uint64_t absurd = (uint64_t)1 << 42;
    uint64_t taken = read_bytes("/proc/self/status", "VmData: %" SCNu64 " kB");
    if (taken < absurd && bytes < absurd)
        set_soft_limit(taken + bytes);
}

void memory_release(void)
{
    set_soft_limit(RLIM_INFINITY);
}
