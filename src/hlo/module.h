/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * module: what one device of an SPMD program runs, in HLO's words; the waist between what a model does and what chips send.
 *
 * A module is a list of computations, each a list of instructions in schedule order. An instruction has an opcode, the
 * shape of its result *on one device*, operands (earlier instructions of its computation) and attributes: dimensions,
 * replica groups, called computations, a literal, labels. All that time or numbers depend on stands in these, so that a
 * module that is printed as HLO text and read back is the same module (hlo_print.h, hlo_read.h).
 *
 * An attribute is a key and numbers, or a text as it is written; which of the two stands in the table of keys. Labels of
 * our own (which layer, which phase, which tensor) are frontend_attributes, as JAX writes them: {layer="3",phase="bwd"}.
 *
 * Everything lies in a few arrays; texts, shapes, numbers are named by their index, equal texts and shapes are kept once
 * (but names and labels of instructions, which rarely are equal).
 * Building appends: a computation is begun, its instructions are added, the next computation is begun. What is called is
 * built before its caller. A fault (out of memory) sticks, and module_close() reports it, so that builders need not look
 * at every call.
 *
 * Units: bytes of shapes. Errors: status.h. Ownership: the caller's struct, freed with module_free(), safe when zeroed.
 */
#ifndef ICISIM_MODULE_H
#define ICISIM_MODULE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"
#include "hlo/opcode.h"
#include "notation/axes.h"
#include "notation/groups.h"

/* An array of a dtype, or a tuple of shapes, or a token, or something opaque to HLO itself. */
enum { SHAPE_TUPLE = -1, SHAPE_TOKEN = -2, SHAPE_OPAQUE = -3 };
struct shape {
    int32_t dtype;        /* enum dtype_id, or SHAPE_TUPLE and so on */
    int32_t first, count; /* number[first ..): sizes of dims; of a tuple: its shapes */
    int32_t layout;       /* text of the layout as written, "{1,0:T(8,128)S(1)}", or 0 */
    bool on_chip;         /* in a memory space other than HBM: S(1) and so on */
};

/* What the value of an attribute is, and its numbers. */
enum attribute_kind {
    VALUE_TEXT,     /* no numbers: a text, as written */
    VALUE_ARGUMENT, /* what stands in the parentheses: of a parameter its number, of a constant its elements where
                           all of them are whole numbers, row by row, else the text */
    VALUE_NUMBER,       /* 3 */
    VALUE_FLAG,         /* true: 1, false: 0 */
    VALUE_LIST,         /* {0,2} */
    VALUE_PAIRS,        /* {{0,1},{1,2}}: two numbers a pair */
    VALUE_RANGES,       /* {[0:8], [0:8:2]}: start, limit, stride of each dim */
    VALUE_PADS,         /* 0_1x2_0_3: low, high, interior of each dim */
    VALUE_COMPUTATIONS, /* %sum or {%a, %b}: computations */
    VALUE_INSTRUCTIONS, /* {%a, %b}: earlier instructions of the computation */
    VALUE_GROUPS        /* index of an entry in the table of groups */
};

/* Keys that somebody asks for, and their kinds; others are ATTR_OTHER, kept under the name that they were read by. */
#define ATTRIBUTES(X)                                                                                        \
    X(OTHER, "", TEXT)                                                                                       \
    X(PARAMETER_NUMBER, "parameter", ARGUMENT)                                                               \
    X(LITERAL, "literal", ARGUMENT)                                                                          \
    X(TO_APPLY, "to_apply", COMPUTATIONS)                                                                    \
    X(CALLS, "calls", COMPUTATIONS)                                                                          \
    X(BODY, "body", COMPUTATIONS)                                                                            \
    X(CONDITION, "condition", COMPUTATIONS)                                                                  \
    X(BRANCHES, "branch_computations", COMPUTATIONS)                                                         \
    X(TRUE_COMPUTATION, "true_computation", COMPUTATIONS)                                                    \
    X(FALSE_COMPUTATION, "false_computation", COMPUTATIONS)                                                  \
    X(CALLED_COMPUTATIONS, "called_computations", COMPUTATIONS)                                              \
    X(CONTROL_PREDECESSORS, "control-predecessors", INSTRUCTIONS)                                            \
    X(REPLICA_GROUPS, "replica_groups", GROUPS)                                                              \
    X(SOURCE_TARGET_PAIRS, "source_target_pairs", PAIRS)                                                     \
    X(CHANNEL_ID, "channel_id", NUMBER)                                                                      \
    X(USE_GLOBAL_DEVICE_IDS, "use_global_device_ids", FLAG)                                                  \
    X(DIMENSIONS, "dimensions", LIST)                                                                        \
    X(INDEX, "index", NUMBER)                                                                                \
    X(IOTA_DIMENSION, "iota_dimension", NUMBER)                                                              \
    X(LHS_CONTRACTING, "lhs_contracting_dims", LIST)                                                         \
    X(RHS_CONTRACTING, "rhs_contracting_dims", LIST)                                                         \
    X(LHS_BATCH, "lhs_batch_dims", LIST)                                                                     \
    X(RHS_BATCH, "rhs_batch_dims", LIST)                                                                     \
    X(LHS_RAGGED, "lhs_ragged_dims", LIST)                                                                   \
    X(RHS_GROUP, "rhs_group_dims", LIST)                                                                     \
    X(COLLAPSED_SLICE_DIMS, "collapsed_slice_dims", LIST)                                                    \
    X(START_INDEX_MAP, "start_index_map", LIST)                                                              \
    X(INDEX_VECTOR_DIM, "index_vector_dim", NUMBER)                                                          \
    X(INSERTED_WINDOW_DIMS, "inserted_window_dims", LIST)                                                    \
    X(SCATTER_DIMS, "scatter_dims_to_operand_dims", LIST)                                                    \
    X(WINDOW, "window", TEXT)                                                                                \
    X(DIM_LABELS, "dim_labels", TEXT)                                                                        \
    X(FEATURE_GROUP_COUNT, "feature_group_count", NUMBER)                                                    \
    X(BATCH_GROUP_COUNT, "batch_group_count", NUMBER)                                                        \
    X(SLICE, "slice", RANGES)                                                                                \
    X(DYNAMIC_SLICE_SIZES, "dynamic_slice_sizes", LIST)                                                      \
    X(SLICE_SIZES, "slice_sizes", TEXT)                                                                      \
    X(PADDING, "padding", PADS)                                                                              \
    X(DIRECTION, "direction", TEXT)                                                                          \
    X(KIND, "kind", TEXT)                                                                                    \
    X(CUSTOM_CALL_TARGET, "custom_call_target", TEXT)                                                        \
    X(ASYNC_THREAD, "async_execution_thread", TEXT)                                                          \
    X(BACKEND_CONFIG, "backend_config", TEXT)                                                                \
    X(OPERAND_PRECISION, "operand_precision", TEXT)                                                          \
    X(FRONTEND_ATTRIBUTES, "frontend_attributes", TEXT)                                                      \
    X(METADATA, "metadata", TEXT)                                                                            \
    X(SHARDING, "sharding", TEXT)

enum attribute_key {
#define ATTRIBUTE_ENUM(id, name, kind) ATTR_##id,
    ATTRIBUTES(ATTRIBUTE_ENUM)
#undef ATTRIBUTE_ENUM
        ATTRIBUTE_KEYS
};

struct attribute_info {
    const char *name;
    enum attribute_kind kind;
};
extern const struct attribute_info attribute_table[ATTRIBUTE_KEYS];
static inline const struct attribute_info *attribute_info(enum attribute_key key)
{
    assert((unsigned)key < ATTRIBUTE_KEYS);
    return &attribute_table[key];
}
/* The key of a name of so many characters: ATTR_OTHER for what nobody asks for. */
enum attribute_key attribute_by_name(const char *name, int length);

struct attribute {
    enum attribute_key key;
    int32_t name;         /* of ATTR_OTHER: a text */
    int32_t text;         /* the value as written, or 0 where the numbers say all */
    int32_t first, count; /* number[first ..) */
};

struct instruction {
    enum opcode opcode;
    int32_t name; /* text, without the % */
    int32_t shape;
    int32_t computation;
    int32_t first_operand, operands; /* operand[first_operand ..): instructions */
    int32_t first_attribute, attributes;
};

struct computation {
    int32_t name;
    int32_t first, count; /* instruction[first ..) */
    int32_t root;         /* an instruction */
};

/* Who communicates together, as written, and as positions in the device assignment. How ids are meant depends on the
 * instruction (module_groups_of()). `text` is what is printed: "{{0,1},{2,3}}", "[2,4]<=[8]", "mesh['x'=4,'y'=4] {'x'}". */
enum { MODULE_MEMBERS_MAX = 1 << 24 }; /* of all groups of a module together; devices: GROUPS_DEVICES_MAX */
struct module_groups {
    int32_t text;
    struct groups groups; /* of ids; count 0 for "{}", all of them */
};

struct module {
    int32_t name; /* text */
    bool scheduled;
    int partitions, replicas;
    int32_t header;  /* text: what else the HloModule line says, as written; 0: nothing */
    int32_t sources; /* text: tables of source lines, as written (source.h); 0: none */
    int32_t entry;   /* a computation, -1 until it is known */
    int error;       /* first fault while building */

    char *text; /* NUL-terminated texts, one after the other; index 0 is "" */
    struct shape *shape;
    int64_t *number;
    int32_t *operand;
    struct attribute *attribute;
    struct instruction *instruction;
    struct computation *computation;
    struct module_groups *groups;
    int32_t texts, shapes, numbers, operands, attributes, instructions, computations, groupings;
    int32_t room[8]; /* of the arrays above, in this order */
    int32_t
        *caller; /* [computations], once closed: the one instruction that runs it, or -1: none, or several */
    struct module_index *index; /* while building: where equal texts and shapes are */
};

void module_init(struct module *module, const char *name, int partitions);
void module_free(struct module *module);
/* Ends building: returns the first fault, if any. */
int module_close(struct module *module, struct status *st);

/* The parts. A length of -1 is to the NUL. */
int32_t module_text(struct module *module, const char *text, int length);
static inline const char *module_word(const struct module *module, int32_t text)
{
    return module->text ? module->text + text : ""; /* none: there was no memory for the first */
}
int32_t module_array(struct module *module, enum dtype_id dtype, const int64_t dim[], int dims);
int32_t module_tuple(struct module *module, const int32_t shape[], int shapes);
int32_t module_shape(struct module *module, struct shape shape,
                     const int64_t number[]); /* as given; first is ignored */
int32_t module_groups(struct module *module, const char *text, const struct groups *groups); /* copied */

/* Begins a computation, which ends where the next begins. Its root is the instruction that was added last, unless
 * `root` is set after that. */
int32_t module_begin(struct module *module, const char *name);
/* Appends an instruction; a NULL name is made from the opcode. Attributes that follow belong to it. */
int32_t module_add(struct module *module, enum opcode opcode, const char *name, int32_t shape,
                   const int32_t operand[], int operands);
void module_attribute(struct module *module, enum attribute_key key, const int64_t number[], int numbers);
void module_attribute_text(struct module *module, enum attribute_key key, const char *name, const char *text);
/* One more label of our own for the instruction that was added last: frontend_attributes={layer="3"}. */
void module_add_label(struct module *module, const char *key, const char *value);
/* ... or for one that has labels already. */
void module_add_label_to(struct module *module, int32_t at, const char *key, const char *value);
/* The same for a reader, which has spans of a text and no strings: texts of the module. */
int32_t module_name(struct module *module, const char *name, int length); /* not looked for among the texts */
int32_t module_add_named(struct module *module, enum opcode opcode, int32_t name, int32_t shape,
                         const int32_t operand[], int operands);
void module_attribute_word(struct module *module, enum attribute_key key, int32_t name, int32_t text);

/* Is it products alone, as a benchmark times them, and no step of a model? What writes one says so in the header:
 * frontend_attributes={products="alone"}. */
void module_say_alone(struct module *module);
bool module_products_alone(const struct module *module);

/* Questions. A key that is missing has no numbers and the text "". */
const struct attribute *module_find(const struct module *module, int32_t instruction, enum attribute_key key);
const int64_t *module_numbers(const struct module *module, int32_t instruction, enum attribute_key key,
                              int *count);
int64_t module_number(const struct module *module, int32_t instruction, enum attribute_key key,
                      int64_t fallback);
const char *module_value(const struct module *module, int32_t instruction, enum attribute_key key);
/* The shape that comes out in the end: of a start its second element, after the operands (of a copy-start the first). */
int32_t module_result(const struct module *module, int32_t instruction);
/* The computations that an instruction runs (a fusion, call, while, conditional, async-start, custom-call), not those that it
 * applies to elements, one by one from `which` 0: -1 after the last. Of what is asynchronous the start runs them. */
int32_t module_called(const struct module *module, int32_t instruction, int which);
/* The parameter of a computation that has a number, -1 if there is none. */
int32_t module_parameter(const struct module *module, int32_t computation, int64_t number);
/* A label of our own: frontend_attributes={layer="3"}; false if it has none. */
bool module_label(const struct module *module, int32_t instruction, const char *key, char *value, int room);
/* Does it have one, as it is written: phase="bwd"? */
bool module_has_label(const struct module *module, int32_t instruction, const char *label);
/* Is it of the backward pass? Of which layer, from 1; 0: of none. And both: one number for each layer and phase. */
bool module_is_backward(const struct module *module, int32_t instruction);
int32_t module_layer(const struct module *module, int32_t instruction);
int32_t module_region(const struct module *module, int32_t instruction);
/* What is not there, because building has failed, is empty, so that whoever builds need not look at every step. */
extern const struct instruction module_no_instruction;
extern const struct shape module_no_shape;
static inline const struct instruction *module_at(const struct module *module, int32_t instruction)
{
    return instruction >= 0 && instruction < module->instructions ? &module->instruction[instruction]
                                                                  : &module_no_instruction;
}
static inline const char *module_name_at(const struct module *module, int32_t instruction)
{
    return module_word(module, module_at(module, instruction)->name);
}
/* The opcode that an instruction begins or ends; of one that is whole its own. */
static inline enum opcode module_whole_at(const struct module *module, int32_t instruction)
{
    return opcode_info(module_at(module, instruction)->opcode)->whole;
}
static inline int32_t module_operand(const struct module *module, int32_t instruction, int which)
{
    return module->operand[module->instruction[instruction].first_operand + which];
}
static inline const struct shape *module_shape_of(const struct module *module, int32_t instruction)
{
    int32_t shape = module_at(module, instruction)->shape;
    return shape >= 0 && shape < module->shapes ? &module->shape[shape] : &module_no_shape;
}
/* Where a dim is in a list of dims; -1: nowhere. */
static inline int module_dim_in(const int64_t list[], int n, int64_t dim)
{
    for (int i = 0; i < n; i++)
        if (list[i] == dim)
            return i;
    return -1;
}

/* Elements and bytes of a shape; of a tuple the sum. */
double shape_elements(const struct module *module, int32_t shape);
double shape_bytes(const struct module *module, int32_t shape);
double shape_hbm_bytes(const struct module *module, int32_t shape); /* 0 for what is on the chip */

/* How the ids of a collective are meant; and how many there are. */
enum module_ids {
    IDS_REPLICAS,                /* replicas of one partition; the same for each partition */
    IDS_REPLICAS_ALL_PARTITIONS, /* replicas, each with all of its partitions */
    IDS_PARTITIONS,              /* partitions of one replica; the same for each replica */
    IDS_FLATTENED                /* replica * partitions + partition */
};
enum module_ids module_ids_of(const struct module *module, int32_t instruction);
int module_ids(const struct module *module, enum module_ids ids);

/* The devices that a collective's groups are, as flattened ids: what replica_groups, channel_id and
 * use_global_device_ids say of an instruction, of a START too. Of a collective-permute: its pairs, as groups of source and
 * target. Errors: ids out of range, twice or left out. */
int module_groups_of(const struct module *module, int32_t instruction, struct groups *groups,
                     struct status *st);

/* The mesh that all groups of a module are of, as coarse as they allow (module_mesh.c): "m0=4,m1=2". What fits no mesh is left
 * out. */
int module_mesh(const struct module *module, struct axes *axes, struct status *st);

/* How often a while loop runs: its known_trip_count, or found from its condition through the tuple that it carries, or -1. */
int64_t module_trip_count(const struct module *module, int32_t instruction);
/* Is that not said in the text, but found from its condition? */
bool module_trips_are_inferred(const struct module *module, int32_t instruction);
/* The same where it has to be known: that it is not is a fault. */
int module_need_trips(const struct module *module, int32_t loop, int64_t *trips, struct status *st);

/* How often each computation runs in one run of the module: runs[computations]. What is only applied to elements does not
 * run by itself. Which branch of a conditional runs is not in the text: each counts. Errors: trip counts not known. */
int module_executions(const struct module *module, double runs[], struct status *st);

#endif
