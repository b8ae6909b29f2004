/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compile/compute_time.h"

#include <math.h>

#include "compile/lower.h"

static const double loop_estimate_excess = 2.2; /* 2.1 to 2.3 in four measured copies */

const char *basis_name(enum basis basis)
{
    static const char *const names[BASES] = {"nothing", "estimate", "bytes", "guess", "--op-cost"};
    return names[basis];
}

static bool has_estimates(const struct module *module)
{
    for (int32_t i = 0; i < module->instructions; i++)
        if (!isnan(module_estimated_cycles(module, i)))
            return true;
    return false;
}

int compute_rule_for(const struct module *module, const struct chip *chip, enum compute_rule asked,
                     struct status *st)
{
    if (!module && asked == COMPUTE_AUTO)
        return (int)asked;
    bool estimates = module && asked != COMPUTE_ROOFLINE && has_estimates(module);
    if (asked == COMPUTE_ESTIMATED && !estimates)
        return status_fail(st, STATUS_INPUT,
                           "%s no estimated_cycles; use --compute roofline, or compile it for a TPU",
                           module ? "the text has" : "a matmul in the notation has");
    if (asked == COMPUTE_ESTIMATED && isnan(chip->clock_Hz))
        return status_fail(st, STATUS_INPUT,
                           "%s has no clock to time cycles by; add one to its file, such as clock: 1.5GHz",
                           chip->name);
    return (int)(estimates && !isnan(chip->clock_Hz) ? asked : COMPUTE_ROOFLINE);
}

struct product compute_product(const struct cost *cost, const struct roofline *roofline)
{
    double batches = cost->batches;
    return (struct product){.dtype = cost->dtype,
                            .flops = cost->m > 0 ? roofline_product_flops(roofline, cost->m, cost->k, cost->n)
                                                 : cost->flops,
                            .hbm_bytes = cost->hbm_bytes,
                            .shape = {.batch = batches,
                                      .m = batches > 0 ? cost->m / batches : 0,
                                      .k = cost->k,
                                      .n = cost->n,
                                      .left_bytes = cost->left_bytes,
                                      .right_bytes = cost->right_bytes,
                                      .results = cost->results,
                                      .hbm_bytes = cost->hbm_bytes}};
}

/* The time of a product by the roofline, with the efficiency of its kind if there is one and none was given.
 * */
static int product_time(const struct cost *cost, const struct roofline *roofline, struct compute_time *time,
                        struct status *st)
{
    struct roofline of_kind = *roofline;
    double of_attention = chip_attention_efficiency(roofline->chip, cost->head_width, cost->causal_length);
    if (cost->head_width > 0 && !isnan(of_attention) && isnan(roofline->efficiency))
        of_kind.efficiency = of_attention;
    else if (cost->efficiency > 0)
        of_kind.efficiency = cost->efficiency;
    struct product product = compute_product(cost, roofline);
    time->fixed_s = roofline_fixed_s(&of_kind, &product);
    return roofline_product_s(&of_kind, product, &time->seconds, &time->bound, st);
}

/* Loop counters and the like: the scalar core takes no time for them, and XLA does not estimate them. */
static bool is_scalar(const struct module *module, int32_t instruction)
{
    const struct shape *shape = module_shape_of(module, instruction);
    return module_at(module, instruction)->opcode != HLO_FUSION && shape->dtype >= 0 && shape->count == 0;
}

static int auto_time(const struct lower *lower, int32_t instruction, const struct cost *cost,
                     struct compute_time *time, struct status *st)
{
    const struct module *module = lower->module;
    const struct roofline *roofline = &lower->options->roofline;
    double estimate_s = module_estimated_cycles(module, instruction) / roofline->chip->clock_Hz;
    if (cost->product) {
        struct roofline alone = *roofline;
        struct status no_peak = {0};
        alone.step = false; /* the fit to whole steps contains more than products */
        if (product_time(cost, &alone, time, isnan(estimate_s) ? st : &no_peak) < 0 && isnan(estimate_s))
            return st->code;
        time->fixed_s = 0;
        double moving_s = roofline_loop_s(roofline, cost->hbm_bytes);
        if (moving_s > time->seconds) {
            time->seconds = moving_s;
            time->bound = BOUND_HBM;
        }
        time->basis = time->bound == BOUND_HBM ? BASIS_BYTES : BASIS_GUESS;
        if (!isnan(estimate_s)) {
            time->seconds = estimate_s;
            time->basis = BASIS_ESTIMATE;
        }
    } else if (isnan(estimate_s) && is_scalar(module, instruction)) {
        return 0;
    } else if (cost->hbm_bytes > 0) {
        time->fixed_s = roofline_loop_overhead_s(roofline);
        time->seconds = roofline_loop_s(roofline, cost->hbm_bytes);
        time->basis = module_at(module, instruction)->opcode == HLO_SORT ? BASIS_GUESS : BASIS_BYTES;
    } else if (estimate_s > 0) {
        /* For arrays in VMEM the estimate contains the overhead once, and only the rest of it is too high. */
        double fixed_s = fmin(estimate_s, roofline_loop_overhead_s(roofline));
        time->seconds = fixed_s + (estimate_s - fixed_s) / loop_estimate_excess;
        time->basis = BASIS_GUESS;
    }
    return 0;
}

static int roofline_time(const struct roofline *roofline, const struct cost *cost, struct compute_time *time,
                         struct status *st)
{
    time->fixed_s = roofline->launch_s;
    if (cost->product)
        return product_time(cost, roofline, time, st);
    bool loops = roofline->step && roofline->chip->profile == CHIP_MEASURED;
    if (loops)
        time->fixed_s = roofline_loop_overhead_s(roofline);
    if (cost->hbm_bytes > 0)
        time->seconds =
            loops ? roofline_loop_s(roofline, cost->hbm_bytes) : roofline_memory_s(roofline, cost->hbm_bytes);
    return 0;
}

int lower_time_of(const struct lower *lower, int32_t instruction, struct cost *cost,
                  struct compute_time *time, struct status *st)
{
    const struct lower_options *options = lower->options;
    double given_s;
    *cost = lower_cost(lower, instruction, &given_s);
    *time = (struct compute_time){.bound = BOUND_HBM};
    if (!isnan(given_s)) {
        *time = (struct compute_time){given_s, options->roofline.launch_s, BOUND_LAUNCH, BASIS_GIVEN};
        return 0;
    }
    if (options->compute == COMPUTE_ROOFLINE)
        return roofline_time(&options->roofline, cost, time, st);
    if (options->compute == COMPUTE_AUTO)
        return auto_time(lower, instruction, cost, time, st);
    double cycles = module_estimated_cycles(lower->module, instruction);
    if (cycles > 0) {
        time->seconds = cycles / options->roofline.chip->clock_Hz;
        time->basis = BASIS_ESTIMATE;
    }
    return 0;
}
