/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * module: what one device of an SPMD program runs, in HLO's words; the waist between models and programs of sends.
 *
 * A module is a list of computations, each a list of instructions in schedule order. An instruction has an opcode, the
 * shape of its result *on one device*, operands (earlier instructions of its computation) and attributes: dimensions,
 * replica groups, called computations, a literal, labels. Times and numbers depend on nothing else, so a module that
 * is printed as HLO text and read back is the same module (hlo_print.h, hlo_read.h).
 *
 * An attribute is a key with numbers, or with a text as written; the table of keys says which. icisim's own labels
 * (layer, phase, tensor) are frontend_attributes, as JAX writes them: {layer="3",phase="bwd"}.
 *
 * Everything is stored in a few arrays. Texts, shapes and numbers are referred to by index; equal texts and shapes are
 * stored once, except for names of instructions, which are rarely equal.
 *
 * Building appends: begin a computation, add its instructions, begin the next. A computation is built before its
 * callers. A fault (out of memory, too many parts) sticks, and module_close() reports it, so builders need not check
 * every call.
 *
 * Units: bytes. Errors: status.h. Ownership: the caller's struct, freed with module_free(), safe when zeroed.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "hlo/opcode.h"
#include "notation/groups.h"

/* An array, a tuple of shapes, a token, or a value that is opaque to HLO. */
enum { SHAPE_TUPLE = -1, SHAPE_TOKEN = -2, SHAPE_OPAQUE = -3 };
struct shape {
    int32_t dtype; /* enum dtype_id, or SHAPE_TUPLE and so on */
    /* number[first ..): the sizes of its dims; for a tuple, the shapes of its elements */
    int32_t first, count;
    int32_t layout; /* text of the layout as written, "{1,0:T(8,128)S(1)}", or 0 */
    bool on_chip;   /* in a memory space other than HBM: S(1) and so on */
};

/* The kinds of values that attributes have, with an example of each; all but texts are stored as numbers. */
enum attribute_kind {
    VALUE_TEXT,     /* the text as written */
    VALUE_ARGUMENT, /* the text in the parentheses: a parameter's number; a constant's elements, row by row, as
                           numbers if all are whole, else as text */
    VALUE_NUMBER,   /* 3 */
    VALUE_FLAG,     /* true: 1, false: 0 */
    VALUE_LIST,     /* {0,2} */
    VALUE_PAIRS,    /* {{0,1},{1,2}}: two numbers a pair */
    VALUE_RANGES,   /* {[0:8], [0:8:2]}: start, limit, stride of each dim */
    VALUE_PADS,     /* 0_1x2_0_3: low, high, interior of each dim */
    VALUE_COMPUTATIONS, /* %sum or {%a, %b}: computations */
    VALUE_INSTRUCTIONS, /* {%a, %b}: earlier instructions of the computation */
    VALUE_GROUPS        /* index of an entry in the table of groups */
};

/* The keys that icisim uses, and their kinds; others are ATTR_OTHER and keep their name and text. */
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
/* The key with a name of `length` characters; ATTR_OTHER if it is not in the table. */
enum attribute_key attribute_by_name(const char *name, int length);

struct attribute {
    enum attribute_key key;
    int32_t name;         /* for ATTR_OTHER: its name, a text */
    int32_t text;         /* the value as written, or 0 if the numbers say everything */
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

/* Replica groups: the text that is printed, "{{0,1},{2,3}}", "[2,4]<=[8]" or "mesh['x'=4,'y'=4] {'x'}", and the ids
 * that it lists. Which devices the ids stand for depends on the instruction (module_groups_of()). */
enum { MODULE_MEMBERS_MAX = 1 << 24 }; /* of all groups of a module together; devices: GROUPS_DEVICES_MAX */
struct module_groups {
    int32_t text;
    struct groups groups; /* of ids; count 0 for "{}", one group of all ids */
};

struct module {
    int32_t name; /* text */
    bool scheduled;
    int partitions, replicas;
    int32_t header;  /* text: the other attributes of the HloModule line, as written; 0: none */
    int32_t sources; /* text: tables of source lines, as written (source.h); 0: none */
    int32_t entry;   /* a computation, -1 until it is known */
    int error;       /* the first fault while building, a negative status code */

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
    /* [computations], set by module_close(): the only instruction that runs it; -1: none or several. */
    int32_t *caller;
    struct module_index *index; /* while building: where equal texts and shapes are */
};

void module_init(struct module *module, const char *name, int partitions);
void module_free(struct module *module);
/* Ends building and returns the first fault, if any. The entry is the last computation unless it was set. */
int module_close(struct module *module, struct status *st);

/* Add a text, shape or list of groups, or find an equal one, and return its index. A length of -1: up to the NUL. */
int32_t module_text(struct module *module, const char *text, int length);
static inline const char *module_word(const struct module *module, int32_t text)
{
    return module->text ? module->text + text : ""; /* NULL: out of memory */
}
int32_t module_array(struct module *module, enum dtype_id dtype, const int64_t dim[], int dims);
int32_t module_tuple(struct module *module, const int32_t shape[], int shapes);
int32_t module_shape(struct module *module, struct shape shape,
                     const int64_t number[]); /* number[shape.count]; shape.first is ignored */
int32_t module_groups(struct module *module, const char *text, const struct groups *groups); /* copied */

/* Begins a computation; it ends where the next begins. Its root is the instruction added last, unless `root` is set
 * afterwards. */
int32_t module_begin(struct module *module, const char *name);
/* Appends an instruction; the module_attribute calls that follow belong to it. A NULL name becomes "OPCODE.INDEX". */
int32_t module_add(struct module *module, enum opcode opcode, const char *name, int32_t shape,
                   const int32_t operand[], int operands);
void module_attribute(struct module *module, enum attribute_key key, const int64_t number[], int numbers);
/* The same, as another instruction has it. */
void module_attribute_of(struct module *module, int32_t other, enum attribute_key key);
void module_attribute_text(struct module *module, enum attribute_key key, const char *name, const char *text);
/* Adds a label, frontend_attributes={layer="3"}, to the instruction that was added last, or gives one another value. */
void module_add_label(struct module *module, const char *key, const char *value);
/* The same for any instruction that has labels already. */
void module_add_label_to(struct module *module, int32_t at, const char *key, const char *value);
/* The same as module_text(), module_add() and module_attribute_text() for a reader of text: names are spans, and
 * module_name() does not look for an equal text. */
int32_t module_name(struct module *module, const char *name, int length);
int32_t module_add_named(struct module *module, enum opcode opcode, int32_t name, int32_t shape,
                         const int32_t operand[], int operands);
void module_attribute_word(struct module *module, enum attribute_key key, int32_t name, int32_t text);

/* Is the module nothing but matmuls, as a benchmark times them, rather than a step of a model? Whoever builds such a
 * module says so, and its header has frontend_attributes={products="alone"}. */
void module_say_alone(struct module *module);
bool module_products_alone(const struct module *module);

/* Attributes of an instruction. A missing key: NULL, no numbers, `fallback`, "". */
const struct attribute *module_find(const struct module *module, int32_t instruction, enum attribute_key key);
const int64_t *module_numbers(const struct module *module, int32_t instruction, enum attribute_key key,
                              int *count);
int64_t module_number(const struct module *module, int32_t instruction, enum attribute_key key,
                      int64_t fallback);
const char *module_value(const struct module *module, int32_t instruction, enum attribute_key key);
/* The shape of the final result. For a start it is the second element of its shape, after the operands, for a
 * copy-start the first. */
int32_t module_result(const struct module *module, int32_t instruction);
/* Computation number `which`, from 0, of those that an instruction runs; -1 after the last. Fusions, calls, whiles,
 * conditionals, async-starts and custom-calls run computations; a to_apply that a reduction or collective applies to
 * elements does not count. An asynchronous instruction runs them in its start. */
int32_t module_called(const struct module *module, int32_t instruction, int which);
/* The parameter with this number of a computation; -1: there is none. */
int32_t module_parameter(const struct module *module, int32_t computation, int64_t number);
/* The value of a label in the text of all, up to its quote; NULL: there is no such label. */
const char *module_label_in(const char *text, const char *key);
/* Copies the value of a label, 3 of frontend_attributes={layer="3"}, to value[room]; false: there is no such label. */
bool module_label(const struct module *module, int32_t instruction, const char *key, char *value, int room);
/* Does it have this label, as written: phase="bwd"? */
bool module_has_label(const struct module *module, int32_t instruction, const char *label);
/* Does it belong to the backward pass? To which layer, from 1 (0: none)? A number for each pair of layer and phase. */
bool module_is_backward(const struct module *module, int32_t instruction);
int32_t module_layer(const struct module *module, int32_t instruction);
int32_t module_region(const struct module *module, int32_t instruction);
/* An index that is out of range, as after a fault, gives an empty instruction or shape, so builders need not check. */
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
/* The opcode of which the instruction is a part (a start or done), or else its own. */
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
/* The position of a dim in list[n]; -1: it is not there. */
static inline int module_dim_in(const int64_t list[], int n, int64_t dim)
{
    for (int i = 0; i < n; i++)
        if (list[i] == dim)
            return i;
    return -1;
}

/* Elements and bytes (without padding) of a shape; for a tuple the sum of its elements. */
double shape_elements(const struct module *module, int32_t shape);
double shape_bytes(const struct module *module, int32_t shape);
double shape_hbm_bytes(const struct module *module, int32_t shape); /* without arrays that are on the chip */

/* What the ids in a collective's groups stand for (module_groups.c has XLA's rule), and how many there are. */
enum module_ids {
    IDS_REPLICAS,                /* replicas, for each partition separately */
    IDS_REPLICAS_ALL_PARTITIONS, /* replicas, each with all of its partitions */
    IDS_PARTITIONS,              /* partitions, for each replica separately */
    IDS_FLATTENED                /* devices: replica * partitions + partition */
};
enum module_ids module_ids_of(const struct module *module, int32_t instruction);
int module_ids(const struct module *module, enum module_ids ids);

/* The groups of a collective, or of its start, as flattened device ids, from replica_groups, channel_id and
 * use_global_device_ids. For a collective-permute: its pairs, as groups of source and target. The caller frees
 * `groups`. Errors: ids that are out of range, repeated or missing. */
int module_groups_of(const struct module *module, int32_t instruction, struct groups *groups,
                     struct status *st);

/* The coarsest mesh along whose axes the groups of a module lie (module_mesh.c): "m0=4,m1=2". Groups that fit no mesh
 * are ignored. */
int module_mesh(const struct module *module, struct axes *axes, struct status *st);

/* The trip count of a while loop: its known_trip_count, or inferred from its condition and state; -1: unknown. */
int64_t module_trip_count(const struct module *module, int32_t instruction);
/* Has the loop no known_trip_count? */
bool module_trips_are_inferred(const struct module *module, int32_t instruction);
/* The trip count; an error, which names --trip-count, if it is unknown. */
int module_need_trips(const struct module *module, int32_t loop, int64_t *trips, struct status *st);

/* How often each computation runs in one run of the module: runs[computations]. Computations that are only applied to
 * elements do not run by themselves. All branches of a conditional count. Errors: unknown trip counts. */
int module_executions(const struct module *module, double runs[], struct status *st);
