// SPDX-License-Identifier: Apache-2.0
// The graph: modules of functions, single-block regions of nodes, values with use lists.
//
// A module owns one arena and one interner. Everything reachable from it lives as long as it does
// and is freed at once. Nodes are kept in program order in doubly linked lists; regions may use
// values of enclosing regions. Failure of host memory is sticky: builders then return the module's
// poison node or NULL types, and hlo_module_status() says so once.
// threads: confined while compiling, immutable after.
#ifndef HLO_IR_MODULE_H_
#define HLO_IR_MODULE_H_

#include "base/diag.h"
#include "base/hashmap.h"
#include "base/mem.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "ir/ops.h"
#include "ir/type.h"

typedef struct hlo_node hlo_node_t;
typedef struct hlo_value hlo_value_t;
typedef struct hlo_use hlo_use_t;
typedef struct hlo_region hlo_region_t;
typedef struct hlo_func hlo_func_t;

/// Index into the module's location table; 0 is the unknown location.
typedef uint32_t hlo_loc_t;

typedef enum hlo_loc_kind {
  HLO_LOC_UNKNOWN,
  HLO_LOC_FILE,      // text:line:col (range end ignored)
  HLO_LOC_NAME,      // text, first child (0: none)
  HLO_LOC_CALLSITE,  // first: callee, second: caller
  HLO_LOC_FUSED,     // children
} hlo_loc_kind_t;

typedef struct hlo_loc_info {
  hlo_loc_kind_t kind;
  uint32_t line, col;
  const char* text;
  uint32_t child_count;
  const hlo_loc_t* children;
} hlo_loc_info_t;

/// One use of a value: operand number `user->operands - this use`.
struct hlo_use {
  hlo_value_t* value;
  hlo_node_t* user;
  hlo_use_t* next;   // next use of the same value
  hlo_use_t** link;  // what points at this use
};

struct hlo_value {
  const hlo_type_t* type;
  hlo_use_t* uses;
  hlo_node_t* def;       // NULL: an argument of `region`
  hlo_region_t* region;  // region that defines it
  uint32_t number;       // result or argument number
  uint32_t index;        // dense in the module, for side tables
};

struct hlo_node {
  hlo_op_t op;
  uint32_t index;  // dense in the module, for side tables
  hlo_loc_t loc;
  uint32_t operand_count, result_count, region_count;
  hlo_use_t* operands;
  hlo_value_t* results;
  hlo_region_t** regions;
  const hlo_attr_t** attrs;   // by slot of the op's table row; NULL: absent
  const hlo_attr_t* extra;    // DICT of discardable attributes, or NULL
  hlo_region_t* parent;       // NULL while unlinked
  hlo_node_t *prev, *next;
};

struct hlo_region {
  hlo_module_t* module;
  hlo_func_t* func;     // NULL: the module's own region
  hlo_node_t* parent;   // node that holds the region, NULL for a function's body
  uint32_t arg_count, arg_capacity;
  hlo_value_t** args;
  hlo_node_t *first, *last;
};

typedef enum hlo_visibility { HLO_PUBLIC, HLO_PRIVATE, HLO_NESTED } hlo_visibility_t;

struct hlo_func {
  hlo_module_t* module;
  const char* name;
  hlo_visibility_t visibility;
  hlo_loc_t loc;
  const hlo_type_t* type;  // FUNCTION; kept equal to the body's arguments and return
  const hlo_attr_t** arg_attrs;     // per argument: DICT or NULL; the array itself may be NULL
  const hlo_attr_t** result_attrs;  // per result
  const hlo_attr_t* extra;          // DICT or NULL
  hlo_region_t* body;               // NULL: declared only
  uint32_t index;
  hlo_func_t *prev, *next;
};

struct hlo_module {
  hlo_arena_t arena;
  const char* name;         // sym_name or NULL
  const hlo_attr_t* extra;  // DICT of module attributes (mhlo.num_partitions ...)
  hlo_func_t *first_func, *last_func;
  uint32_t func_count;
  hlo_map_t funcs;          // by name: the first one of it
  bool has_namesakes;       // two functions had one name, which the verifier refuses
  hlo_region_t* top;        // module-level ops that are no functions (sdy.mesh)
  hlo_loc_info_t* locs;
  uint32_t loc_count, loc_capacity;
  uint32_t node_count, value_count;  // dense indices given out so far
  hlo_node_t* poison;
  struct hlo_interner* interner;
};

/// errors: RESOURCE_EXHAUSTED. `limit_bytes` bounds the arena (0: none).
hlo_status_t hlo_module_create(size_t limit_bytes, hlo_module_t** out_module) HLO_MUST_USE;
void hlo_module_release(hlo_module_t* module);
/// The sticky memory error, if any.
hlo_status_t hlo_module_status(const hlo_module_t* module) HLO_MUST_USE;
/// An interned, zero-terminated copy ("" when memory is exhausted).
const char* hlo_module_string(hlo_module_t* module, const char* text, size_t length);

hlo_loc_t hlo_module_loc_file(hlo_module_t* module, const char* file, size_t length, uint32_t line,
                              uint32_t col);
hlo_loc_t hlo_module_loc(hlo_module_t* module, const hlo_loc_info_t* info);
/// Appends a readable place, "model.py:3:7" (innermost file of it) with a name if there is one.
void hlo_loc_format(const hlo_module_t* module, hlo_loc_t loc, hlo_strbuf_t* out);

/// The first file location at or below `loc` (NULL: none), and the outermost name above it (NULL).
const hlo_loc_info_t* hlo_loc_find(const hlo_module_t* module, hlo_loc_t loc,
                                   const char** out_name);

/// Creates a function with arguments of the inputs of `type` at the end of the module. Names are
/// not checked for being unique (the verifier does).
hlo_func_t* hlo_func_create(hlo_module_t* module, const char* name, const hlo_type_t* type,
                            hlo_visibility_t visibility, bool has_body, hlo_loc_t loc);
/// The first function of that name; NULL: none.
hlo_func_t* hlo_module_find_func(const hlo_module_t* module, const char* name);
/// @main, else the only public function, else the only function, else NULL.
hlo_func_t* hlo_module_entry(const hlo_module_t* module);
void hlo_func_remove(hlo_func_t* func);
/// Sets func->type from the body's arguments and its return node.
void hlo_func_update_type(hlo_func_t* func);

hlo_region_t* hlo_region_create(hlo_module_t* module, hlo_func_t* func, hlo_node_t* parent);
hlo_value_t* hlo_region_add_arg(hlo_region_t* region, const hlo_type_t* type);
/// The terminator, or NULL if the region does not end in one.
hlo_node_t* hlo_region_terminator(const hlo_region_t* region);
/// The node of the region that `node` is, or is somewhere inside of; NULL: none.
const hlo_node_t* hlo_region_ancestor(const hlo_region_t* region, const hlo_node_t* node);

/// The op of both arguments that a region returns, as reducers do, and whether it takes the second
/// one first; NULL: the region is none of that kind.
const hlo_node_t* hlo_region_binary_op(const hlo_region_t* region, bool* out_is_swapped);

/// An attribute for hlo_node_create().
typedef struct hlo_named_attr {
  hlo_attr_id_t id;
  const hlo_attr_t* value;
} hlo_named_attr_t;

/// What a node is made of. Results: `result_types` when given, else inferred (then an inference
/// failure turns into a poison node and a diagnostic through `diag`, if not NULL).
typedef struct hlo_node_spec {
  hlo_op_t op;
  hlo_loc_t loc;
  uint32_t operand_count;
  hlo_value_t* const* operands;
  uint32_t attr_count;
  const hlo_named_attr_t* attrs;
  const hlo_attr_t* extra;
  uint32_t region_count;  // empty regions are made
  uint32_t result_count;
  const hlo_type_t* const* result_types;
} hlo_node_spec_t;

/// Creates a node, unlinked; types must be given (hlo_infer_types() knows most).
/// Never NULL: the poison node (no operands, no results) when memory is exhausted.
hlo_node_t* hlo_node_create(hlo_module_t* module, const hlo_node_spec_t* spec);
void hlo_region_append(hlo_region_t* region, hlo_node_t* node);
void hlo_node_insert_before(hlo_node_t* place, hlo_node_t* node);
/// Unlinks from its region; operands stay used.
void hlo_node_unlink(hlo_node_t* node);
/// Unlinks and drops its operand uses (its regions' too). Results must be unused.
void hlo_node_erase(hlo_node_t* node);
static inline bool hlo_node_is_poison(const hlo_node_t* node) {
  return node->op == HLO_OP_COUNT;
}
static inline hlo_value_t* hlo_node_operand(const hlo_node_t* node, uint32_t i) {
  return node->operands[i].value;
}
static inline const hlo_type_t* hlo_node_operand_type(const hlo_node_t* node, uint32_t i) {
  return node->operands[i].value->type;
}
void hlo_node_set_operand(hlo_node_t* node, uint32_t i, hlo_value_t* value);
void hlo_value_replace_uses(hlo_value_t* from, hlo_value_t* to);
static inline bool hlo_value_is_unused(const hlo_value_t* value) { return value->uses == NULL; }

/// Attributes by id; NULL when absent (or not in the op's row).
const hlo_attr_t* hlo_node_attr(const hlo_node_t* node, hlo_attr_id_t id);
void hlo_node_set_attr(hlo_node_t* node, hlo_attr_id_t id, const hlo_attr_t* value);
int64_t hlo_node_attr_int(const hlo_node_t* node, hlo_attr_id_t id, int64_t fallback);
bool hlo_node_attr_bool(const hlo_node_t* node, hlo_attr_id_t id, bool fallback);
/// STRING or SYMBOL text; NULL when absent.
const char* hlo_node_attr_text(const hlo_node_t* node, hlo_attr_id_t id);
/// INTS values and their count; NULL and 0 when absent.
const int64_t* hlo_node_attr_ints(const hlo_node_t* node, hlo_attr_id_t id, uint32_t* out_count);
/// Value `i` of them.
int64_t hlo_node_attr_item(const hlo_node_t* node, hlo_attr_id_t id, uint32_t i, int64_t fallback);
/// All but discardable ones, between nodes of one op; the poison node takes none.
void hlo_node_copy_attrs(hlo_node_t* to, const hlo_node_t* from);

/// First operand and number of operands of port `port` of the op's row (variadic ports of one op
/// share what is left equally, or follow operand_segment_sizes). False if the count does not fit.
bool hlo_node_operand_segment(const hlo_node_t* node, uint32_t port, uint32_t* out_first,
                              uint32_t* out_count);

/// The module of a linked or unlinked node's regions and values.
static inline hlo_module_t* hlo_region_module(const hlo_region_t* region) { return region->module; }

#endif  // HLO_IR_MODULE_H_
