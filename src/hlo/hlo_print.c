/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/hlo_print.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void print_list(const int64_t number[], int count, FILE *out)
{
    for (int i = 0; i < count; i++)
        fprintf(out, "%s%" PRId64, i ? "," : "", number[i]);
}

static void print_shape(const struct module *module, int32_t shape, FILE *out)
{
    const struct shape *s = &module->shape[shape];
    if (s->dtype == SHAPE_TUPLE) {
        putc('(', out);
        for (int i = 0; i < s->count; i++) {
            if (i)
                fputs(", ", out);
            print_shape(module, (int32_t)module->number[s->first + i], out);
        }
        putc(')', out);
        return;
    }
    fputs(s->dtype == SHAPE_TOKEN    ? "token"
          : s->dtype == SHAPE_OPAQUE ? "opaque"
                                     : dtype_info((enum dtype_id)s->dtype)->name,
          out);
    putc('[', out);
    print_list(module->number + s->first, s->count, out);
    putc(']', out);
    fputs(module_word(module, s->layout), out);
}

/* {{0, 1}, {2, 3}}: the elements from `number` on, in braces for each dim from `dim` on; returns the place
 * after them. */
static const int64_t *print_elements(const struct module *module, const struct shape *shape, int dim,
                                     const int64_t *number, FILE *out)
{
    if (dim == shape->count) {
        print_list(number, 1, out);
        return number + 1;
    }
    putc('{', out);
    for (int64_t i = 0; i < module->number[shape->first + dim]; i++) {
        if (i)
            fputs(", ", out);
        number = print_elements(module, shape, dim + 1, number, out);
    }
    putc('}', out);
    return number;
}

static void print_argument(const struct module *module, int32_t instruction, FILE *out)
{
    bool parameter = module_at(module, instruction)->opcode == HLO_PARAMETER;
    const struct attribute *argument =
        module_find(module, instruction, parameter ? ATTR_PARAMETER_NUMBER : ATTR_LITERAL);
    if (!argument)
        return;
    if (argument->text)
        fputs(module_word(module, argument->text), out);
    else if (parameter)
        print_list(module->number + argument->first, argument->count, out);
    else
        print_elements(module, module_shape_of(module, instruction), 0, module->number + argument->first,
                       out);
}

/* How the numbers of an attribute are printed: numbers per item; the third one is omitted if it has its
 * default. */
static const struct form {
    const char *open, *between, *next, *close;
    int each;
    int64_t third;
} forms[] = {
    [VALUE_NUMBER] = {"", "", ",", "", 1, 0},       [VALUE_LIST] = {"{", "", ",", "}", 1, 0},
    [VALUE_PAIRS] = {"{{", ",", "},{", "}}", 2, 0}, [VALUE_RANGES] = {"{[", ":", "], [", "]}", 3, 1},
    [VALUE_PADS] = {"", "_", "x", "", 3, 0},
};

static void print_numbers(const struct form *form, const int64_t number[], int count, FILE *out)
{
    if (count == 0)
        fputs(*form->open ? "{}" : "", out);
    for (int i = 0; i < count; i++)
        if (i % form->each != 2 || number[i] != form->third)
            fprintf(out, "%s%" PRId64,
                    i == 0           ? form->open
                    : i % form->each ? form->between
                                     : form->next,
                    number[i]);
    fputs(count ? form->close : "", out);
}

/* Prints names, in braces unless there is one and `bare` is set. */
static void print_names(const struct module *module, const struct attribute *attribute, bool bare, FILE *out)
{
    bool computations = attribute_info(attribute->key)->kind == VALUE_COMPUTATIONS;
    bare = bare && attribute->count == 1;
    fputs(bare ? "" : "{", out);
    for (int32_t i = 0; i < attribute->count; i++) {
        int64_t n = module->number[attribute->first + i];
        fprintf(
            out, "%s%%%s", i ? ", " : "",
            module_word(module, computations ? module->computation[n].name : module->instruction[n].name));
    }
    fputs(bare ? "" : "}", out);
}

static void print_value(const struct module *module, const struct attribute *attribute, FILE *out)
{
    const int64_t *number = module->number + attribute->first;
    enum attribute_kind kind = attribute_info(attribute->key)->kind;
    switch (kind) {
    case VALUE_TEXT:
    case VALUE_ARGUMENT:
        fputs(module_word(module, attribute->text), out);
        break;
    case VALUE_FLAG:
        fputs(*number ? "true" : "false", out);
        break;
    case VALUE_NUMBER:
    case VALUE_LIST:
    case VALUE_PAIRS:
    case VALUE_RANGES:
    case VALUE_PADS:
        print_numbers(&forms[kind], number, attribute->count, out);
        break;
    case VALUE_COMPUTATIONS:
    case VALUE_INSTRUCTIONS:
        print_names(module, attribute, kind == VALUE_COMPUTATIONS && attribute->key != ATTR_BRANCHES, out);
        break;
    case VALUE_GROUPS:
        fputs(module_word(module, module->groups[*number].text), out);
        break;
    }
}

static void print_instruction(const struct module *module, int32_t instruction, bool root, FILE *out)
{
    const struct instruction *i = module_at(module, instruction);
    fputs(root ? "  ROOT %" : "  %", out);
    fputs(module_word(module, i->name), out);
    fputs(" = ", out);
    print_shape(module, i->shape, out);
    putc(' ', out);
    fputs(opcode_info(i->opcode)->name, out);
    putc('(', out);
    print_argument(module, instruction, out);
    for (int o = 0; o < i->operands; o++) {
        fputs(o ? ", %" : "%", out);
        fputs(module_name_at(module, module_operand(module, instruction, o)), out);
    }
    putc(')', out);
    for (int32_t a = i->first_attribute; a < i->first_attribute + i->attributes; a++) {
        const struct attribute *attribute = &module->attribute[a];
        if (attribute_info(attribute->key)->kind == VALUE_ARGUMENT)
            continue;
        fputs(", ", out);
        fputs(attribute->key == ATTR_OTHER ? module_word(module, attribute->name)
                                           : attribute_info(attribute->key)->name,
              out);
        putc('=', out);
        print_value(module, attribute, out);
    }
    putc('\n', out);
}

int hlo_print(const struct module *module, FILE *out, struct status *st)
{
    fprintf(out, "HloModule %s", module_word(module, module->name));
    if (module->scheduled)
        fputs(", is_scheduled=true", out);
    if (module->header)
        fprintf(out, ", %s", module_word(module, module->header));
    if (module->replicas != 1)
        fprintf(out, ", replica_count=%d", module->replicas);
    fprintf(out, ", num_partitions=%d\n", module->partitions);
    if (module->sources)
        fprintf(out, "\n%s\n", module_word(module, module->sources));
    for (int32_t c = 0; c < module->computations; c++) {
        const struct computation *computation = &module->computation[c];
        fprintf(out, "\n%s%%%s {\n", c == module->entry ? "ENTRY " : "",
                module_word(module, computation->name));
        for (int32_t i = computation->first; i < computation->first + computation->count; i++)
            print_instruction(module, i, i == computation->root, out);
        fputs("}\n", out);
    }
    return ferror(out) ? status_fail(st, STATUS_IO, "cannot write the module: %s", strerror(errno)) : 0;
}
