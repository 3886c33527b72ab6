// SPDX-License-Identifier: Apache-2.0
// The graph: modules of functions, single-block regions of nodes, values with use lists.
//
// A module owns one arena and one interner. Everything reachable from it lives as long as the
// module and is freed with it. Nodes are kept in program order in doubly linked lists; regions may
// use values of enclosing regions. Failure of host memory is sticky: builders then return the
// module's poison node or NULL types, and hlo_module_status() reports the failure once.
// threads: confined while compiling, immutable after
#pragma once

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

/// One use of a value; the operand's number is the position of the use in user->operands.
struct hlo_use {
  hlo_value_t* value;
  hlo_node_t* user;
  hlo_use_t* next;   // next use of the same value
  hlo_use_t** link;  // the pointer that points at this use
};

struct hlo_value {
  const hlo_type_t* type;
  hlo_use_t* uses;
  hlo_node_t* def;       // NULL for an argument of `region`
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
  const hlo_attr_t** attrs;  // by slot of the op's table row; NULL if absent
  const hlo_attr_t* extra;   // DICT of discardable attributes, or NULL
  hlo_region_t* parent;      // NULL while unlinked
  hlo_node_t *prev, *next;
};

struct hlo_region {
  hlo_module_t* module;
  hlo_func_t* func;    // NULL: the module's own region
  hlo_node_t* parent;  // node that holds the region, NULL for a function's body
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
  const hlo_type_t* type;           // FUNCTION; kept equal to the body's arguments and return
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
  hlo_map_t funcs;      // by name: the first function of each name
  bool has_namesakes;   // two functions share a name, which the verifier refuses
  hlo_map_t shardings;  // by attribute, and meshes by op (see sharding.h)
  hlo_region_t* top;    // module-level ops that are not functions (sdy.mesh)
  hlo_loc_info_t* locs;
  uint32_t loc_count, loc_capacity;
  uint32_t node_count, value_count;  // dense indices assigned so far
  bool had_op[HLO_OP_COUNT];         // of any node created so far, erased ones too
  hlo_node_t* poison;
  struct hlo_interner* interner;
};

/// `limit_bytes` bounds the arena (0: no limit).
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_module_create(size_t limit_bytes, hlo_module_t** out_module) HLO_MUST_USE;
void hlo_module_release(hlo_module_t* module);
/// Returns the sticky memory error, or OK.
hlo_status_t hlo_module_status(const hlo_module_t* module) HLO_MUST_USE;
/// Returns true if a node of one of the ops, which HLO_OP_COUNT ends, was created in the module. It
/// may be erased since; a module of which this is false has none.
bool hlo_module_had_any(const hlo_module_t* module, const hlo_op_t* ops);
/// Returns an interned, zero-terminated copy ("" when memory is exhausted).
const char* hlo_module_string(hlo_module_t* module, const char* text, size_t length);

hlo_loc_t hlo_module_loc_file(hlo_module_t* module, const char* file, size_t length, uint32_t line,
                              uint32_t col);
hlo_loc_t hlo_module_loc(hlo_module_t* module, const hlo_loc_info_t* info);
/// Appends a readable location, "model.py:3:7" (its innermost file), with a name if it has one.
void hlo_loc_format(const hlo_module_t* module, hlo_loc_t loc, hlo_strbuf_t* out);

/// Returns the first file location at or below `loc`, or NULL; *out_name is the outermost name
/// above it, or NULL.
const hlo_loc_info_t* hlo_loc_find(const hlo_module_t* module, hlo_loc_t loc,
                                   const char** out_name);

/// Creates a function at the end of the module, with arguments for the inputs of `type`. The
/// verifier checks that names are unique.
hlo_func_t* hlo_func_create(hlo_module_t* module, const char* name, const hlo_type_t* type,
                            hlo_visibility_t visibility, bool has_body, hlo_loc_t loc);
/// Returns the first function of that name, or NULL.
hlo_func_t* hlo_module_find_func(const hlo_module_t* module, const char* name);
/// Returns @main, else the only public function, else the only function, else NULL.
hlo_func_t* hlo_module_entry(const hlo_module_t* module);
void hlo_func_remove(hlo_func_t* func);
/// Sets func->type from the body's arguments and its return node.
void hlo_func_update_type(hlo_func_t* func);

hlo_region_t* hlo_region_create(hlo_module_t* module, hlo_func_t* func, hlo_node_t* parent);
hlo_value_t* hlo_region_add_arg(hlo_region_t* region, const hlo_type_t* type);
/// Returns the terminator, or NULL if the region does not end in one.
hlo_node_t* hlo_region_terminator(const hlo_region_t* region);
/// Returns the node of the region that is `node` or contains it, or NULL.
const hlo_node_t* hlo_region_ancestor(const hlo_region_t* region, const hlo_node_t* node);

/// Returns the op on both arguments whose result a region returns, as in reducers, and whether its
/// operands are swapped; NULL for any other region.
const hlo_node_t* hlo_region_binary_op(const hlo_region_t* region, bool* out_is_swapped);
/// Returns that op in whatever order it has its operands, HLO_OP_COUNT for any other region.
hlo_op_t hlo_region_reducer(const hlo_region_t* region);

/// An attribute for hlo_node_create().
typedef struct hlo_named_attr {
  hlo_attr_id_t id;
  const hlo_attr_t* value;
} hlo_named_attr_t;

/// The parts of a new node. Results have `result_types` if given; otherwise their types are
/// inferred, and a failure gives the poison node and a diagnostic in `diag` (may be NULL).
typedef struct hlo_node_spec {
  hlo_op_t op;
  hlo_loc_t loc;
  uint32_t operand_count;
  hlo_value_t* const* operands;
  uint32_t attr_count;
  const hlo_named_attr_t* attrs;
  const hlo_attr_t* extra;
  uint32_t region_count;  // empty regions are created
  uint32_t result_count;
  const hlo_type_t* const* result_types;
} hlo_node_spec_t;

/// Creates an unlinked node with the given result types (hlo_infer_types() computes most). Never
/// NULL: returns the poison node (no operands, no results) when memory is exhausted.
hlo_node_t* hlo_node_create(hlo_module_t* module, const hlo_node_spec_t* spec);
void hlo_region_append(hlo_region_t* region, hlo_node_t* node);
void hlo_node_insert_before(hlo_node_t* before, hlo_node_t* node);
/// Unlinks the node from its region; its operands stay used.
void hlo_node_unlink(hlo_node_t* node);
/// Unlinks the node and drops its operand uses and those in its regions. Its results must be
/// unused.
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
/// Returns the type of operand `i`, where the results follow the operands.
static inline const hlo_type_t* hlo_node_type(const hlo_node_t* node, uint32_t i) {
  return i < node->operand_count ? hlo_node_operand_type(node, i)
                                 : node->results[i - node->operand_count].type;
}
void hlo_node_set_operand(hlo_node_t* node, uint32_t i, hlo_value_t* value);
void hlo_value_replace_uses(hlo_value_t* from, hlo_value_t* to);
static inline bool hlo_value_is_unused(const hlo_value_t* value) {
  return value->uses == NULL;
}
/// Returns true if nothing uses any of the node's results.
bool hlo_node_is_unused(const hlo_node_t* node);

/// Returns an attribute by id; NULL if it is absent or not in the op's row.
const hlo_attr_t* hlo_node_attr(const hlo_node_t* node, hlo_attr_id_t id);
void hlo_node_set_attr(hlo_node_t* node, hlo_attr_id_t id, const hlo_attr_t* value);
int64_t hlo_node_attr_int(const hlo_node_t* node, hlo_attr_id_t id, int64_t fallback);
bool hlo_node_attr_bool(const hlo_node_t* node, hlo_attr_id_t id, bool fallback);
/// Returns the text of a STRING or SYMBOL; NULL if it is absent.
const char* hlo_node_attr_text(const hlo_node_t* node, hlo_attr_id_t id);
/// Returns the values of INTS and their count; NULL and 0 if it is absent.
const int64_t* hlo_node_attr_ints(const hlo_node_t* node, hlo_attr_id_t id, uint32_t* out_count);
/// Returns value `i` of INTS, or `fallback`.
int64_t hlo_node_attr_item(const hlo_node_t* node, hlo_attr_id_t id, uint32_t i, int64_t fallback);
/// Copies all but the discardable attributes between nodes of the same op; the poison node accepts
/// none.
void hlo_node_copy_attrs(hlo_node_t* to, const hlo_node_t* from);

/// Finds the first operand and the operand count of port `port` of the op's row. Variadic ports of
/// an op share the remaining operands equally, or follow operand_segment_sizes. False if the count
/// does not match.
bool hlo_node_operand_segment(const hlo_node_t* node, uint32_t port, uint32_t* out_first,
                              uint32_t* out_count);

/// Returns the module of a region.
static inline hlo_module_t* hlo_region_module(const hlo_region_t* region) {
  return region->module;
}

// ---- errors of single ops

/// Prints the node's location and name, "model.py:3:7: stablehlo.sort".
void hlo_node_print_location(const hlo_node_t* node, hlo_strbuf_t* out);
/// Returns an error that begins with the node's location and name: "model.py:3:7: stablehlo.sort:
/// message".
hlo_status_t hlo_node_error(const hlo_node_t* node, hlo_status_code_t code, const char* format, ...)
    HLO_PRINTF(3, 4) HLO_MUST_USE HLO_COLD;
#define hlo_node_invalid(node, ...) hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT, __VA_ARGS__)
#define hlo_node_unimplemented(node, ...) \
  hlo_node_error(node, HLO_STATUS_UNIMPLEMENTED, __VA_ARGS__)
/// Prepends the node's location and name to the message of `status`, which the function takes over.
/// OK stays OK.
hlo_status_t hlo_node_annotate(const hlo_node_t* node, hlo_status_t status) HLO_MUST_USE;

// ---- lists of integers

/// An integer list attribute, lent; empty if the attribute is absent.
typedef struct hlo_ints {
  const int64_t* values;
  uint32_t count;
} hlo_ints_t;

static inline hlo_ints_t hlo_node_ints(const hlo_node_t* node, hlo_attr_id_t id) {
  hlo_ints_t list = {NULL, 0};
  list.values = hlo_node_attr_ints(node, id, &list.count);
  return list;
}

/// Returns item i, or `fallback` past the end (absent window attributes have defaults).
static inline int64_t hlo_ints_at(hlo_ints_t list, uint32_t i, int64_t fallback) {
  return i < list.count ? list.values[i] : fallback;
}

static inline bool hlo_ints_has(hlo_ints_t list, int64_t value) {
  for (uint32_t i = 0; i < list.count; i++) {
    if (list.values[i] == value) return true;
  }
  return false;
}
