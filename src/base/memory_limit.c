/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/memory_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

/* "NAME:  123 kB" of a file in /proc, in bytes; `none` if it is not there. */
static uint64_t read_kib(const char *path, const char *format, uint64_t none)
{
    char line[256];
    uint64_t kib, bytes = none;
    FILE *in = fopen(path, "re");
    while (in && fgets(line, sizeof line, in))
        if (sscanf(line, format, &kib) == 1) {
            bytes = kib * 1024;
            break;
        }
    if (in)
        fclose(in);
    return bytes;
}

uint64_t memory_free_bytes(void)
{
    return read_kib("/proc/meminfo", "MemAvailable: %" SCNu64 " kB", UINT64_MAX);
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
    uint64_t taken = read_kib("/proc/self/status", "VmData: %" SCNu64 " kB", absurd);
    if (taken < absurd && bytes < absurd)
        set_soft_limit(taken + bytes);
}

void memory_release(void)
{
    set_soft_limit(RLIM_INFINITY);
}
