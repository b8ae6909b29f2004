/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes shell completions: the options of each command, and the values of each option. */
#include <string.h>

#include "base/text.h"
#include "collective/collective.h"
#include "faces/command.h"
#include "faces/manual.h"
#include "machine/chip.h"

/* The values that an option may have: words, each after a blank, from its row or from tables of names; and
 * files. */
struct values {
    char words[1024];
    bool files;
};

static void add_word(struct values *values, const char *word)
{
    text_add(values->words, sizeof values->words, " %s", word);
}

static struct values values_of(const struct option_row *option)
{
    struct values values = {.files = option->argument && strstr(option->argument, "FILE")};
    const char *chips[CHIP_BUILT_IN_MAX];
    if (option->values || option->kind == OPTION_FLAG) {
        add_word(&values, option->values ? option->values : "on off");
    } else if (strcmp(option->name, "chip") == 0) {
        chip_names(chips);
        values.files = true;
        for (int i = 0; chips[i]; i++)
            add_word(&values, chips[i]);
    } else if (strcmp(option->name, "op") == 0) {
        values.files = true;
        for (const struct collective *c = collectives; c->name; c++)
            add_word(&values, c->name);
    }
    return values;
}

static void write_bash_values(const struct option_row *option, FILE *out)
{
    struct values values = values_of(option);
    fprintf(out, " values='%s' files=%s", values.words, values.files ? "yes" : "no");
}

/* bash: the options of each command, and for options with a value its words and whether it may be a file. */
static void write_bash(FILE *out)
{
    fputs("    local commands='", out);
    for (const struct command *const *command = command_list; *command; command++)
        fprintf(out, " %s", (*command)->name);
    fputs("'\n    case ${words[1]} in\n", out);
    for (const struct command *const *command = command_list; *command; command++) {
        fprintf(out, "    %s) options='", (*command)->name);
        for (int i = 0; i < option_count; i++)
            if (option_table[i].commands & (*command)->bit && !option_table[i].positional)
                fprintf(out, " --%s", option_table[i].name);
        fputs(" --help'", out);
        for (int i = 0; i < option_count; i++)
            if (option_table[i].commands & (*command)->bit && option_table[i].positional)
                write_bash_values(&option_table[i], out);
        fputs(" ;;\n", out);
    }
    fputs("    esac\n    case $previous in\n", out);
    for (int i = 0; i < option_count; i++) {
        const struct option_row *option = &option_table[i];
        if (option->positional || !option->argument)
            continue;
        if (option->letter)
            fprintf(out, "    -%c |", option->letter);
        else
            fputs("   ", out);
        fprintf(out, " --%s) takes=yes", option->name);
        write_bash_values(option, out);
        fputs(" ;;\n", out);
    }
    fputs("    esac\n", out);
}

/* Writes a text for _arguments: in single quotes, with [ ] and : escaped as well. */
static void put_zsh(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            fputc('\\', out);
        fputs(*text == '\'' ? "'\\''" : (const char[]){*text, '\0'}, out);
    }
}

static void write_zsh_option(const struct option_row *option, FILE *out)
{
    struct values values = values_of(option);
    fputs("        '*", out);
    if (!option->positional) {
        fprintf(out, "--%s%s[", option->name, option->argument ? "=" : "");
        put_zsh(option->doc, out);
        fputc(']', out);
    }
    if (option->argument) {
        fputc(':', out);
        put_zsh(option->argument, out);
        fputc(':', out);
        if (*values.words && values.files)
            fprintf(out, "{_alternative \"words\\:word\\:(%s )\" \"files\\:file\\:_files\"}", values.words);
        else if (*values.words)
            fprintf(out, "(%s )", values.words);
        else if (values.files)
            fputs("_files", out);
    }
    fputs("'\n", out);
}

/* zsh: the specification of each command's arguments for _arguments. */
static void write_zsh(FILE *out)
{
    fputs("known=(\n", out);
    for (const struct command *const *command = command_list; *command; command++) {
        fprintf(out, "    '%s:", (*command)->name);
        put_zsh((*command)->what, out);
        fputs("'\n", out);
    }
    fputs(")\ncase $words[2] in\n", out);
    for (const struct command *const *command = command_list; *command; command++) {
        fprintf(out, "%s)\n    arguments=(\n", (*command)->name);
        for (int i = 0; i < option_count; i++)
            if (option_table[i].commands & (*command)->bit)
                write_zsh_option(&option_table[i], out);
        fputs("    ) ;;\n", out);
    }
    fputs("esac\n", out);
}

const struct manual_part manual_shell[] = {{"bash", write_bash}, {"zsh", write_zsh}, {NULL, NULL}};
