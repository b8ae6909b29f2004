/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks names up in several mappings. */
#include "model/configuration.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

int configuration_add(struct configuration *config, const struct node *node, struct status *st)
{
    int code = node_is_mapping(node, "a configuration", st);
    bool *read = code == 0 ? calloc((size_t)node->count + 1, sizeof *read) : NULL;
    if (code < 0 || !read)
        return code < 0 ? code : status_nomem(st);
    for (int r = config->roots++; r > 0; r--) {
        config->root[r] = config->root[r - 1];
        config->read[r] = config->read[r - 1];
    }
    config->root[0] = node;
    config->read[0] = read;
    const struct node *text = node_get(node, "text_config");
    if (!text || config->roots == CONFIGURATION_ROOTS)
        return 0;
    configuration_node(config, "text_config");
    return configuration_add(config, text, st);
}

void configuration_free(struct configuration *config)
{
    for (int r = 0; r < config->roots; r++)
        free(config->read[r]);
    *config = (struct configuration){0};
}

const struct node *configuration_node(const struct configuration *config, const char *name)
{
    const struct node *found = NULL;
    for (int r = 0; name && r < config->roots; r++)
        for (int i = 0; i < config->root[r]->count; i++)
            if (strcmp(config->root[r]->name[i], name) == 0) {
                config->read[r][i] = true;
                found = found ? found : config->root[r]->child[i];
            }
    return found;
}

const char *configuration_text(const struct configuration *config, const char *name)
{
    const struct node *node = configuration_node(config, name);
    return node && node->kind == NODE_SCALAR && !node_is_empty(node) ? node->text : NULL;
}

int64_t configuration_number(const char *text)
{
    char digits[24] = "";
    for (size_t n = 0; *text && n + 1 < sizeof digits; text++)
        if (*text != '_')
            digits[n++] = *text;
    return strtoll(digits, NULL, 10);
}

int64_t configuration_whole(const struct configuration *config, const char *name, int64_t fallback)
{
    const char *text = configuration_text(config, name);
    return text ? configuration_number(text) : fallback;
}

bool configuration_is(const struct configuration *config, const char *name)
{
    const char *text = configuration_text(config, name);
    return text && strcasecmp(text, "true") == 0;
}

void configuration_print_unread(const struct configuration *config, FILE *out)
{
    size_t width = 0;
    for (int r = 0; r < config->roots; r++)
        for (int i = 0; i < config->root[r]->count; i++)
            if (!config->read[r][i]) {
                width = width == 0 || width > 100 ? (size_t)fprintf(out, "%s# not read: ", width ? "\n" : "")
                                                  : width + 1;
                width += (size_t)fprintf(out, "%s ", config->root[r]->name[i]);
            }
    if (width)
        putc('\n', out);
}
