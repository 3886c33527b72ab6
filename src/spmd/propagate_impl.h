// SPDX-License-Identifier: Apache-2.0
// Propagation of shardings: slots, which hold what is known of one or several values, and steps,
// which compare the slots of an op.
#pragma once

#include "spmd/spmd.h"

typedef struct hlo_prop_step hlo_prop_step_t;

/// Facts about a value, or about several that are always divided alike: what a loop carries, the
/// members of a sharding group.
typedef struct hlo_prop_slot {
  struct hlo_prop_slot* leader;  // itself, or the slot that holds what is known
  const hlo_type_t* type;
  hlo_spec_t spec;            // axes so far
  uint64_t closed;            // dimensions that no axis may be added to
  hlo_axis_set_t replicated;  // axes that must not be used
  bool is_stated;             // the program says how it is divided
  const hlo_mesh_t* mesh;     // of the program's sharding, or NULL
  uint32_t first_step, step_count;
  struct hlo_prop_event* events;  // newest first, if there is a log
} hlo_prop_slot_t;

/// How a value is seen across the boundary of a manual computation: with its manual axes, which
/// are major to the others, or without them.
typedef struct hlo_prop_view {
  bool adds;  // the slot is without manual axes, the view has them
  hlo_spec_t prefix;
  hlo_axis_set_t manual;
  hlo_axis_set_t replicated;  // that the view adds
} hlo_prop_view_t;

typedef struct hlo_prop_tensor {
  const hlo_value_t* value;  // NULL for results of the function
  hlo_prop_slot_t* slot;
  const hlo_prop_view_t* view;  // NULL: the slot itself
  const hlo_type_t* type;
} hlo_prop_tensor_t;

enum { HLO_PROP_NODE_NEW, HLO_PROP_NODE_OPEN, HLO_PROP_NODE_DONE };

/// Directions in which axes are passed on, combined with |.
enum { HLO_PROP_NONE = 0, HLO_PROP_FORWARD = 1, HLO_PROP_BACKWARD = 2, HLO_PROP_BOTH = 3 };

typedef enum hlo_prop_class {
  HLO_PROP_PASS,       // elementwise ops, reshapes, transposes
  HLO_PROP_SLICE,      // dynamic slices and updates
  HLO_PROP_BROADCAST,  // broadcast_in_dim
  HLO_PROP_OTHER,
  HLO_PROP_FLOW,     // one value flows to another: loops, branches, results of functions
  HLO_PROP_BARRIER,  // as FLOW, in some directions only
  HLO_PROP_CUSTOM,   // the application says how results are divided
} hlo_prop_class_t;

/// An op, or a flow of data between the values of an op with regions.
struct hlo_prop_step {
  const hlo_node_t* node;           // NULL for results of the function
  const hlo_sharding_rule_t* rule;  // NULL: factor i is dimension i of all tensors
  hlo_prop_tensor_t* tensors;       // operands, then results
  uint32_t operand_count, tensor_count;
  hlo_prop_class_t kind;
  uint8_t allowed;           // directions of a BARRIER
  bool is_elementwise;       // results pass axes on before operands do
  bool has_shared_operands;  // an operand has other uses
  bool is_queued;
  const hlo_spec_t**
      asked;  // of CUSTOM: the specs of operands in the last question; NULL: none yet
};

/// A dimension whose sharding has a priority above 0.
typedef struct hlo_prop_delayed {
  hlo_prop_slot_t* slot;
  const hlo_type_t* type;
  uint32_t dim;
  int32_t priority;
  bool is_open;
  hlo_dim_axes_t axes;
} hlo_prop_delayed_t;

typedef struct hlo_prop {
  hlo_spmd_t* spmd;
  const hlo_grid_t* grid;
  hlo_func_t* func;
  hlo_arena_t arena;        // released with the propagation
  hlo_prop_slot_t** slots;  // by value->index; NULL: not a divisible value
  uint32_t slot_capacity;
  hlo_prop_slot_t* results;  // of the function
  uint32_t result_count;
  uint8_t* node_states;     // by node->index: HLO_PROP_NODE_*, while steps are made
  hlo_prop_step_t** steps;  // in the order of the first worklist
  uint32_t step_count, step_capacity;
  hlo_prop_step_t* result_steps;
  hlo_prop_step_t** slot_steps;  // of all slots, see first_step
  hlo_prop_delayed_t* delayed;
  uint32_t delayed_count, delayed_capacity;
  hlo_prop_step_t** queue;  // a stack
  uint32_t queue_count;
  uint32_t phase;  // of the priorities of ops
  bool is_aggressive;
  struct hlo_prop_scratch* scratch;
  bool is_logged;  // somebody asks for reasons
} hlo_prop_t;

/// Decides all specs of the function, and states them as those of its arguments and results.
hlo_status_t hlo_prop_run(hlo_prop_t* prop) HLO_MUST_USE;
/// Writes the specs to the ops of the function, as sdy.sharding. (propagate_shardings.c)
hlo_status_t hlo_spmd_annotate(hlo_spmd_t* spmd) HLO_MUST_USE;
/// Returns the mesh to name the axes of a slot: the one of the program's sharding, or else the
/// first one with all of them; NULL if no mesh has them.
const hlo_mesh_t* hlo_prop_mesh(const hlo_prop_t* prop, const hlo_prop_slot_t* slot);

/// Takes operands without elements from concatenations. (skip_empty.c)
hlo_status_t hlo_spmd_skip_empty(hlo_func_t* func) HLO_MUST_USE;
/// Makes reshapes of reshapes one reshape, or none. (merge_reshapes.c)
hlo_status_t hlo_spmd_merge_reshapes(hlo_func_t* func) HLO_MUST_USE;
/// Gives each use of a constant, of what is computed from constants, and of a broadcast scalar a
/// copy of its own, so that its uses need not agree. (split_constants.c)
hlo_status_t hlo_spmd_split_constants(hlo_func_t* func, hlo_arena_t* arena) HLO_MUST_USE;

/// Makes the slots and steps of the function, with what the program states. (propagate_graph.c)
hlo_status_t hlo_prop_build(hlo_prop_t* prop) HLO_MUST_USE;
/// Returns the slot of a value; NULL if it cannot be divided.
hlo_prop_slot_t* hlo_prop_slot(const hlo_prop_t* prop, const hlo_value_t* value);

/// Returns true for custom calls that the application partitions. (propagate_custom.c)
bool hlo_prop_is_custom(const hlo_prop_t* prop, const hlo_node_t* node);
/// Does what hlo_prop_step_run() does, for CUSTOM steps.
hlo_status_t hlo_prop_custom_run(hlo_prop_t* prop, hlo_prop_step_t* step,
                                 bool* changed) HLO_MUST_USE;
/// Passes axes on among the tensors of a step. Sets bits of `changed` (tensor_count of them) for
/// the tensors whose slot has new axes. (propagate_factors.c)
hlo_status_t hlo_prop_step_run(hlo_prop_t* prop, hlo_prop_step_t* step, bool* changed) HLO_MUST_USE;
/// Returns the directions in which a factor of a step is passed on now.
uint8_t hlo_prop_direction(const hlo_prop_t* prop, const hlo_prop_step_t* step, uint32_t factor);
