/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/fitted.h"

#include <string.h>

bool is_fitted_on(const struct chip *chip, const char *id)
{
    for (int i = 0; i < chip->facts; i++) {
        const struct node *rows = chip->fact[i].measured ? chip->fact[i].fitted_on : NULL;
        for (int r = 0; rows && r < node_count(rows); r++) {
            const char *text;
            if (node_text(node_child(rows, r), "fitted_on", &text, NULL) == 0 && strcmp(text, id) == 0)
                return true;
        }
    }
    return false;
}

const struct embedded_file *embedded_published_file(const char *name)
{
    const struct embedded_file *file = embedded_published;
    while (file->name && strcmp(file->name, name) != 0)
        file++;
    return file;
}
