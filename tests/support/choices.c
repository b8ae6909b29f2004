/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "choices.h"

#include <string.h>

const char *choices_axes(const char *topology, const char *mesh, const char *axes)
{
    static const char *const laid[][3] = {{"4x4x4", "y*z", "x"},
                                          {"4x4x8", "x*y", "z"},
                                          {"2x2x4", "z", "x*y"},
                                          {"8x16", "y", "x"},
                                          {"16x16", "x0*y", "x1"}};
    if (strncmp(mesh, "logical", 7) == 0)
        for (size_t i = 0; i < sizeof laid / sizeof *laid; i++)
            if (strcmp(laid[i][0], topology) == 0)
                return laid[i][*axes == 'a' ? 1 : 2];
    return strcmp(axes, "n") == 0 ? "x*y*z*c" : axes;
}
