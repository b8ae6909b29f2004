/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compile/lower_devices.h"

#include <inttypes.h>
#include <stdlib.h>

#include "compile/lower_own.h"
#include "hlo/hlo_read.h"

/* The elements of a device's operand and result; a dim that is split has a chunk for each device of a group.
 * */
static void find_elements(const struct device_collective *of, int64_t *in, int64_t *out)
{
    int64_t n = of->groups->size, chunk = (of->elements + n - 1) / n;
    switch (of->collective->id) {
    case COLLECTIVE_ALL_GATHER:
        *in = chunk;
        *out = chunk * n;
        break;
    case COLLECTIVE_REDUCE_SCATTER:
        *in = chunk * n;
        *out = chunk;
        break;
    case COLLECTIVE_ALL_TO_ALL:
        *in = *out = (chunk + n - 1) / n * n;
        break;
    default:
        *in = *out = of->elements;
        break;
    }
}

/* HLO lists the root of a broadcast first. */
static void write_members(const struct device_collective *of, FILE *out)
{
    const struct groups *groups = of->groups;
    bool permutes = of->collective->has_targets;
    fprintf(out, permutes ? "source_target_pairs={" : "replica_groups={");
    for (int g = 0; g < groups->count; g++)
        for (int i = 0; i < groups->size; i++)
            fprintf(out, "%s%d%s",
                    i   ? ","
                    : g ? ",{"
                        : "{",
                    groups->member[g * groups->size + (i + of->root) % groups->size],
                    i == groups->size - 1 ? "}" : "");
    fprintf(out, "}");
}

/* Elements from each device to each position of its group, device by device. */
static void write_rows(const struct device_collective *of, const int position[], int devices, FILE *out)
{
    int n = of->groups->size;
    fprintf(out, ", frontend_attributes={rows=\"");
    for (int d = 0; d < devices; d++)
        for (int i = 0; i < n; i++)
            fprintf(out, "%s%" PRId64, d || i ? "," : "", of->pair_elements[position[d] * n + i]);
    fprintf(out, "\"}");
}

static void write_operands(const struct device_collective *of, int64_t elements, FILE *out)
{
    if (!of->pair_elements) {
        fprintf(out, " p = %s[%" PRId64 "] parameter(0)\n", of->dtype->name, elements);
        return;
    }
    for (int i = 0; i < 2; i++)
        fprintf(out, " %c = %s[%" PRId64 "] parameter(%d)\n", "po"[i], of -> dtype -> name, elements, i);
    for (int i = 0; i < 4; i++)
        fprintf(out, " %c = s32[%d] parameter(%d)\n", "abcd"[i], of -> groups -> size, i + 2);
}

/* HLO text of one collective. */
static void write_text(const struct device_collective *of, const int position[], int devices, FILE *out)
{
    const char *type = of->dtype->name, *name = of->collective->name;
    enum collective_id id = of->collective->id;
    int64_t in, result;
    find_elements(of, &in, &result);
    fprintf(out, "HloModule devices, replica_count=%d, is_scheduled=true\n\n", devices);
    fprintf(out, "add {\n a = %s[] parameter(0)\n b = %s[] parameter(1)\n ROOT s = %s[] add(a, b)\n}\n\n",
            type, type, type);
    fprintf(out, "ENTRY main {\n");
    write_operands(of, in, out);
    if (id == COLLECTIVE_BROADCAST)
        name = "collective-broadcast";
    fprintf(out, " ROOT %s = %s[%" PRId64 "] %s(%s), ", name, type, result, name,
            of->pair_elements ? "p, o, a, b, c, d" : "p");
    write_members(of, out);
    if (id == COLLECTIVE_ALL_GATHER || id == COLLECTIVE_REDUCE_SCATTER || id == COLLECTIVE_ALL_TO_ALL)
        fprintf(out, ", dimensions={0}");
    if (id == COLLECTIVE_REDUCE_SCATTER || id == COLLECTIVE_ALL_REDUCE)
        fprintf(out, ", to_apply=add");
    if (of->pair_elements)
        write_rows(of, position, devices, out);
    fprintf(out, "\n}\n");
}

static int read_module(const struct device_collective *of, int devices, struct module *module,
                       struct status *st)
{
    char *text = NULL;
    size_t bytes = 0;
    int *position = calloc((size_t)devices, sizeof *position);
    FILE *out = position ? open_memstream(&text, &bytes) : NULL;
    for (int i = 0; out && i < of->groups->count * of->groups->size; i++)
        position[of->groups->member[i]] = i % of->groups->size;
    if (out)
        write_text(of, position, devices, out);
    free(position);
    if (!out || fclose(out) != 0) {
        free(text);
        return status_nomem(st);
    }
    int code = hlo_read(module, of->collective->name, text, bytes, NULL, st);
    free(text);
    return code;
}

static void describe(const struct lower *lower, int32_t root, struct device_schedule *schedule)
{
    const struct layout *layout = lower_laid(lower, root);
    snprintf(schedule->text, sizeof schedule->text, "%s", layout ? layout->text : "");
    schedule->found = lower->shares > 0;
    if (!schedule->found)
        return;
    schedule->kind = lower->share[0].way.kind;
    schedule->pattern = lower->share[0].way.pattern;
}

static int append(struct lower *lower, struct program *program, int32_t *end,
                  struct device_schedule *schedule, struct status *st)
{
    struct program own = lower->program;
    const struct computation *entry = &lower->module->computation[lower->module->entry];
    int32_t root = entry->first + entry->count - 1;
    lower->program = *program;
    int code = lower_collective(lower, root, -1, *end, end, st);
    *program = lower->program;
    lower->program = own;
    describe(lower, root, schedule);
    const struct layout *layout = lower_laid(lower, root);
    if (code == 0 && layout && layout->chips > 1 && lower->options->algorithm == ALGORITHM_XLA)
        code = lower_choice(lower, root, &schedule->config, &schedule->follows, st);
    return code;
}

int lower_devices(const struct device_collective *of, struct program *program, int32_t *end,
                  struct device_schedule *schedule, struct status *st)
{
    struct module module = {0};
    struct lower lower = {0};
    *schedule = (struct device_schedule){0};
    int code = read_module(of, of->placement->devices, &module, st);
    if (code == 0)
        code = lower_init(&lower, &module, of->placement, of->options, st);
    if (code == 0)
        code = append(&lower, program, end, schedule, st);
    lower_free(&lower);
    module_free(&module);
    return code;
}
