/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of shell completions: what each command takes, and what each option may have. */
#include <string.h>

#include "collective/collective.h"
#include "faces/command.h"
#include "faces/manual.h"
#include "machine/chip.h"

static void put_commands(FILE *out)
{
    for (const struct command *const *command = command_list; *command; command++)
        if (!(*command)->hidden)
            fprintf(out, " %s", (*command)->name);
}

/* The words that an option may have: those of its row, or names that are looked up. */
static void put_values(const struct option_row *option, FILE *out)
{
    const char *chips[CHIP_BUILT_IN_MAX];
    if (option->values)
        fprintf(out, " %s", option->values);
    else if (option->kind == OPTION_FLAG)
        fputs(" on off", out);
    else if (strcmp(option->name, "chip") == 0) {
        chip_names(chips);
        for (int i = 0; chips[i]; i++)
            fprintf(out, " %s", chips[i]);
    } else if (strcmp(option->name, "op") == 0) {
        for (const struct collective *c = collectives; c->name; c++)
            fprintf(out, " %s", c->name);
    }
}

static bool takes_file(const struct option_row *option)
{
    return option->argument && (strstr(option->argument, "FILE") || strcmp(option->name, "chip") == 0 ||
                                strcmp(option->name, "op") == 0);
}

/* bash: the options of each command and, of those that take a value, the words and whether files are among them. */
static void write_bash(FILE *out)
{
    fputs("    local commands='", out);
    put_commands(out);
    fputs("'\n    case ${words[1]} in\n", out);
    for (const struct command *const *command = command_list; *command; command++) {
        if ((*command)->hidden)
            continue;
        fprintf(out, "    %s) options='", (*command)->name);
        for (int i = 0; i < option_count; i++)
            if (option_table[i].commands & (*command)->bit && !option_table[i].positional)
                fprintf(out, " --%s", option_table[i].name);
        fputs(" --help'", out);
        for (int i = 0; i < option_count; i++)
            if (option_table[i].commands & (*command)->bit && option_table[i].positional) {
                fputs(" values='", out);
                put_values(&option_table[i], out);
                fprintf(out, "' files=%s", takes_file(&option_table[i]) ? "yes" : "no");
            }
        fputs(" ;;\n", out);
    }
    fputs("    esac\n    case $previous in\n", out);
    for (int i = 0; i < option_count; i++) {
        const struct option_row *option = &option_table[i];
        if (option->positional || !option->argument || option->commands == FOR_MANUAL)
            continue;
        if (option->letter)
            fprintf(out, "    -%c |", option->letter);
        else
            fputs("   ", out);
        fprintf(out, " --%s) takes=yes values='", option->name);
        put_values(option, out);
        fprintf(out, "' files=%s ;;\n", takes_file(option) ? "yes" : "no");
    }
    fputs("    esac\n", out);
}

/* A text of _arguments: in single quotes, with [ ] and : quoted once more. */
static void put_zsh(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            fputc('\\', out);
        fputs(*text == '\'' ? "'\\''" : (const char[]){*text, '\0'}, out);
    }
}

static void put_action(const struct option_row *option, FILE *out)
{
    fputc(':', out);
    put_zsh(option->argument, out);
    fputc(':', out);
    bool words = option->values || option->kind == OPTION_FLAG || strcmp(option->name, "chip") == 0 ||
                 strcmp(option->name, "op") == 0;
    if (words && takes_file(option)) {
        fputs("{_alternative \"words\\:word\\:(", out);
        put_values(option, out);
        fputs(" )\" \"files\\:file\\:_files\"}", out);
    } else if (words) {
        fputs("(", out);
        put_values(option, out);
        fputs(" )", out);
    } else if (takes_file(option)) {
        fputs("_files", out);
    }
}

/* zsh: the arguments of each command for _arguments. */
static void write_zsh(FILE *out)
{
    fputs("known=(\n", out);
    for (const struct command *const *command = command_list; *command; command++)
        if (!(*command)->hidden) {
            fprintf(out, "    '%s:", (*command)->name);
            put_zsh((*command)->what, out);
            fputs("'\n", out);
        }
    fputs(")\ncase $words[2] in\n", out);
    for (const struct command *const *command = command_list; *command; command++) {
        if ((*command)->hidden)
            continue;
        fprintf(out, "%s)\n    arguments=(\n", (*command)->name);
        for (int i = 0; i < option_count; i++) {
            const struct option_row *option = &option_table[i];
            if (!(option->commands & (*command)->bit))
                continue;
            fputs("        '", out);
            if (option->positional)
                fputs("*", out);
            else
                fprintf(out, "*--%s%s[", option->name, option->argument ? "=" : "");
            if (!option->positional) {
                put_zsh(option->doc, out);
                fputc(']', out);
            }
            if (option->argument)
                put_action(option, out);
            fputs("'\n", out);
        }
        fputs("    ) ;;\n", out);
    }
    fputs("esac\n", out);
}

const struct manual_part manual_shell[] = {{"bash", write_bash}, {"zsh", write_zsh}, {NULL, NULL}};
