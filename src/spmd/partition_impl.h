// SPDX-License-Identifier: Apache-2.0
// Private to the partitioner: partition.c walks the program, partition_ops.c rewrites single ops
// with partition_index.c, partition_windows.c and partition_reduce.c, reshard.c changes how a value
// lies on the devices, partition_collectives.c builds what they exchange.
//
// Every value of the program ("global") has one or several local values: what a device computes for
// it under some spec. Ops ask for their operands under the specs they need, which reshards where
// necessary, and enter their results under the specs they come in.
#pragma once

#include "ir/op_sharding.h"
#include "passes/build.h"
#include "spmd/spmd.h"

/// A local value under one spec. It may be used in the region where it is built and those inside.
typedef struct hlo_local_value {
  struct hlo_local_value* next;
  const hlo_spec_t* spec;
  hlo_value_t* value;
} hlo_local_value_t;

typedef struct hlo_axis_groups hlo_axis_groups_t;

/// threads: confined
typedef struct hlo_partitioner {
  hlo_spmd_t* spmd;
  hlo_module_t* module;
  const hlo_grid_t* grid;
  hlo_node_t* at;              // new nodes are built before it
  int64_t next_channel;        // of collectives
  uint32_t first_new_node;     // index of the first local node
  hlo_local_value_t** locals;  // by index of the global value
  uint32_t local_capacity;
  void* path_nodes;                // scratch of reshard_path.c
  hlo_axis_groups_t* axis_groups;  // of collectives so far
} hlo_partitioner_t;

/// Returns why memory is exhausted, or OK.
static inline hlo_status_t hlo_partitioner_status(const hlo_partitioner_t* p) {
  HLO_TRY(hlo_module_status(p->module));
  return hlo_arena_status(&p->spmd->arena);
}

// All functions below that return values return NULL when memory is exhausted, which the module or
// the arena of spmd records, and accept NULL values.

// ---- partition.c

/// Returns the local value of `value` under `spec`.
hlo_value_t* hlo_local_get(hlo_partitioner_t* p, hlo_value_t* value, const hlo_spec_t* spec);
/// Returns what hlo_local_get() would send, in bytes that a device receives.
double hlo_local_bytes(hlo_partitioner_t* p, const hlo_value_t* value, const hlo_spec_t* spec);
/// Returns the whole value, on every device.
hlo_value_t* hlo_local_get_whole(hlo_partitioner_t* p, hlo_value_t* value);
/// Enters a local value.
/// errors : RESOURCE_EXHAUSTED (also if `local` is NULL)
hlo_status_t hlo_local_set(hlo_partitioner_t* p, const hlo_value_t* value, const hlo_spec_t* spec,
                           hlo_value_t* local) HLO_MUST_USE;
/// Returns the type of one device's part: along each dimension the size of the first part, which is
/// the largest. Elements after the last one of the value are arbitrary.
const hlo_type_t* hlo_local_type(hlo_partitioner_t* p, const hlo_type_t* type,
                                 const hlo_spec_t* spec);
/// Creates the local form of a node, unlinked, with its attributes and without its shardings, and
/// with empty regions.
hlo_node_t* hlo_local_create(hlo_partitioner_t* p, hlo_node_t* node, hlo_value_t* const* operands,
                             const hlo_type_t* const* result_types);
/// Moves the regions of a node to its local form.
void hlo_local_move_regions(hlo_node_t* from, hlo_node_t* to);
/// Partitions the ops of a region in order, up to its terminator, before p->at if that is set, else
/// in their places.
hlo_status_t hlo_partition_body(hlo_partitioner_t* p, hlo_region_t* body) HLO_MUST_USE;

/// The elements of one dimension that each device needs: the device at index i along the axes
/// those from start + i * step on, or from starts[i] on, `count` of them.
typedef struct hlo_dim_exchange {
  uint32_t dim;
  hlo_dim_axes_t axes;
  bool is_divided;  // by the axes; else every device has the whole
  int64_t size;     // of the whole dimension
  int64_t start, step, count;
  const int64_t* starts;          // NULL: they are start + i * step
  int64_t valid_low, valid_high;  // elements outside of this range are not used
} hlo_dim_exchange_t;

/// One dimension of an op over windows. The first operands are exchanged; the local op pads them.
typedef struct hlo_spmd_window {
  hlo_dim_exchange_t exchange;
  uint32_t out_dim;   // of the results
  uint32_t spatial;   // of a convolution
  int64_t low, high;  // padding of the local op; of a select_and_scatter: on the first and on the
                      // last device alone
  bool has_source;    // of a select_and_scatter, whose source is exchanged as well
  hlo_dim_exchange_t source;
  const int64_t* out_starts;  // by part: where it begins in the result of the local op; NULL: at 0
  int64_t out_count;          // of the part
} hlo_spmd_window_t;

/// A reduce_window along a divided dimension that starts, or ends, with the dimension: the devices
/// add what those before them, or after them, have in all.
typedef struct hlo_cumulative {
  bool is_used, is_from_end;
  bool is_general;    // the body is copied, and the initial value changes nothing
  hlo_value_t* init;  // local
  uint32_t dim;
  hlo_dim_axes_t axes;
} hlo_cumulative_t;

/// How the local form of one op is built.
typedef struct hlo_op_plan {
  hlo_partitioner_t* p;
  hlo_node_t* node;
  const hlo_sharding_rule_t* rule;
  hlo_dim_axes_t* factors;     // axes by factor
  bool* is_divisible;          // by factor
  bool* is_uneven;             // by factor: parts may be of unequal size
  hlo_axis_set_t used;         // axes of any factor
  const hlo_spec_t** specs;    // by tensor
  hlo_axis_set_t sums;         // axes over which results are partial
  hlo_axis_set_t unreduced;    // the op is applied to the terms of sums over these axes
  hlo_spmd_window_t* windows;  // dimensions along which devices exchange elements
  uint32_t window_count;
  hlo_cumulative_t cumulative;
  hlo_dim_axes_t candidates;  // of a top_k: axes over which devices select from their parts
  hlo_value_t* mask;          // of a gather: which slices are of the device's part
} hlo_op_plan_t;

/// Returns the spec with other axes of one dimension.
const hlo_spec_t* hlo_spec_with_dim(hlo_partitioner_t* p, const hlo_spec_t* spec, uint32_t dim,
                                    const uint8_t* axes, uint32_t count);

// ---- partition_index.c: ops that find elements by indices

/// Clears is_divisible of factors of a gather or scatter that cannot be divided.
void hlo_restrict_index_factors(hlo_op_plan_t* plan);
/// Changes local operands: indices count from the first element of a device's part.
hlo_status_t hlo_fit_indices(hlo_op_plan_t* plan, hlo_value_t** operands) HLO_MUST_USE;
/// Returns the result of the local gather with the identity of sums for other devices' elements.
hlo_value_t* hlo_mask_gathered(hlo_op_plan_t* plan, hlo_value_t* result);
/// Builds the local form of slices whose position is known when the program runs.
hlo_status_t hlo_partition_dynamic_slice(hlo_op_plan_t* plan) HLO_MUST_USE;
hlo_status_t hlo_partition_update_slice(hlo_op_plan_t* plan) HLO_MUST_USE;

// ---- partition_exchange.c: ranges of divided dimensions

/// Returns the device's range of elements; those outside of the dimension are the scalar `fill`,
/// which may be NULL if they do not count.
/// shapes : dimension x->dim is of size x->count, the others of those of `value`
hlo_value_t* hlo_build_exchange(hlo_partitioner_t* p, hlo_value_t* value,
                                const hlo_dim_exchange_t* x, hlo_value_t* fill);
/// Returns values[i] on the devices at index i along a list of axes: a scalar of type s32.
hlo_value_t* hlo_build_part_scalar(hlo_partitioner_t* p, const hlo_dim_axes_t* axes,
                                   const int64_t* values);
/// Returns `count` elements of a dimension from `first` on.
hlo_value_t* hlo_slice_dim(hlo_partitioner_t* p, hlo_value_t* value, uint32_t dim, int64_t first,
                           int64_t count);
/// Returns the device's part of a divided dimension that begins with element x->start and goes on
/// from its end with its beginning.
hlo_value_t* hlo_build_rotation(hlo_partitioner_t* p, hlo_value_t* value,
                                const hlo_dim_exchange_t* x);
/// Returns what hlo_build_exchange() sends for a local value, in bytes that a device receives.
double hlo_dim_exchange_bytes(hlo_partitioner_t* p, const hlo_type_t* local,
                              const hlo_dim_exchange_t* x);
/// Returns a predicate of the shape of `like`: which elements of the device's range are in
/// [low, high). INT64_MIN and INT64_MAX are no bounds; there must be one.
hlo_value_t* hlo_build_range_mask(hlo_partitioner_t* p, const hlo_dim_exchange_t* x,
                                  const hlo_type_t* like, int64_t low, int64_t high);

// ---- partition_transfer.c: ranges that go from any device to any other one

typedef struct hlo_transfers hlo_transfers_t;

/// Creates an empty list: each device gets `length` elements of dimension `dim`.
hlo_transfers_t* hlo_transfers_create(hlo_partitioner_t* p, uint32_t dim,
                                      const hlo_dim_axes_t* axes, int64_t length);
/// Adds elements [low, high) of a dimension of `size` elements of an operand, which the axes of the
/// list divide if is_divided: the device at index `target` has them from its element `at` on.
/// Returns false when memory is exhausted.
bool hlo_transfers_add(hlo_transfers_t* t, uint32_t operand, int64_t size, bool is_divided,
                       int64_t target, int64_t at, int64_t low, int64_t high);
/// Orders the transfers; returns their cost in bytes that a device receives, HUGE_VAL if they are
/// too many.
double hlo_transfers_plan(hlo_transfers_t* t, double bytes_per_element);
/// Returns the device's range from local values; elements of no transfer are the scalar `filler`.
/// To be called once, after hlo_transfers_plan().
hlo_value_t* hlo_transfers_build(hlo_transfers_t* t, uint32_t operands, hlo_value_t* const* values,
                                 hlo_value_t* filler);

// ---- partition_windows.c: ops that read neighbouring elements

/// Divides dimensions of results, along which devices exchange elements, as propagation decided.
hlo_status_t hlo_plan_windows(hlo_op_plan_t* plan) HLO_MUST_USE;
/// Changes local operands: exchanges elements.
hlo_status_t hlo_fit_windows(hlo_op_plan_t* plan, hlo_value_t** operands) HLO_MUST_USE;
/// Returns the type of a result of the local op, of which `type` may be a part.
const hlo_type_t* hlo_window_result_type(const hlo_op_plan_t* plan, hlo_value_t* const* operands,
                                         const hlo_type_t* type);
/// Returns the part of result 0 of the local op that is the device's, complete.
hlo_value_t* hlo_finish_windows(hlo_op_plan_t* plan, hlo_value_t* result);
/// Builds a concatenation along a divided dimension; *out_is_built is false if it is not one.
hlo_status_t hlo_partition_concatenate(hlo_op_plan_t* plan, bool* out_is_built) HLO_MUST_USE;
/// Changes attributes of the local op.
void hlo_fit_window_attrs(hlo_op_plan_t* plan, hlo_node_t* local);

// ---- partition_edges.c: windows that reach over the ends of a divided dimension

/// Returns the device's part of the local select_and_scatter that defines `result`, which it
/// replaces, with w->low and w->high.
hlo_value_t* hlo_build_edges(hlo_op_plan_t* plan, const hlo_spmd_window_t* w, hlo_value_t* result);

// ---- partition_top_k.c: the best elements of a divided dimension

/// Lets the devices select from their parts if those are at least `least_gain` times as long as
/// what is selected.
void hlo_plan_top_k(hlo_op_plan_t* plan, int64_t least_gain);
/// Enters the results of a selection from the candidates that `local` selects.
hlo_status_t hlo_partition_top_k(hlo_op_plan_t* plan, hlo_node_t* local) HLO_MUST_USE;

// ---- partition_loops.c: values that a loop slices

/// Drops axes from the specs that carried values of a `while` have in it, for those that the loop
/// passes on unchanged and slices: to gather them before the loop takes fewer bytes. Also gathers
/// such values from outside.
hlo_status_t hlo_gather_before_loop(hlo_partitioner_t* p, hlo_node_t* loop,
                                    const hlo_spec_t** specs) HLO_MUST_USE;

// ---- partition_fft.c: transforms of several dimensions

/// Builds a transform one of whose dimensions is divided; *out_is_built is false if it is not one.
hlo_status_t hlo_partition_fft(hlo_op_plan_t* plan, bool* out_is_built) HLO_MUST_USE;

// ---- partition_reshape.c: reshapes of parts of unequal size

/// Builds a reshape of a divided dimension by sending what its parts do not share with those of the
/// result; *out_is_built is false if that costs no less than what the rule says.
hlo_status_t hlo_partition_reshape(hlo_op_plan_t* plan, bool* out_is_built) HLO_MUST_USE;

// ---- partition_random.c: random bits

/// Builds an rng_bit_generator whose major dimension is divided; *out_is_built is false if it is
/// not.
hlo_status_t hlo_partition_random_bits(hlo_op_plan_t* plan, bool* out_is_built) HLO_MUST_USE;

// ---- partition_move.c: axes that an op needs elsewhere

/// Moves axes from dimensions that the op needs whole to others, where that takes less time than to
/// gather the dimensions.
hlo_status_t hlo_plan_moves(hlo_op_plan_t* plan) HLO_MUST_USE;

// ---- partition_reduce.c: results that are partial

/// Returns true if partial results can be combined.
bool hlo_can_combine(const hlo_op_plan_t* plan);
/// Changes local operands such that initial values count once.
hlo_status_t hlo_fit_initial_values(hlo_op_plan_t* plan, hlo_value_t** operands) HLO_MUST_USE;
/// Enters results that are partial over plan->sums; `body`: the region of the local op or NULL.
hlo_status_t hlo_combine_results(hlo_op_plan_t* plan, const hlo_region_t* body,
                                 hlo_value_t* const* results) HLO_MUST_USE;
/// Returns a value of `type` that changes nothing when it is combined by an op: -0 for sums of
/// floats, and so on. NULL for ops without one, too; see hlo_has_identity().
hlo_value_t* hlo_build_identity(hlo_partitioner_t* p, hlo_op_t op, const hlo_type_t* type);
bool hlo_has_identity(hlo_op_t op, const hlo_type_t* type);
/// Returns true if a value is a constant that changes no result of an op: a sum from +0 on is never
/// -0, on one device as well.
bool hlo_is_identity(hlo_op_t op, const hlo_value_t* value);
/// Returns a scalar predicate: true on the devices at index 0 along all axes of a set.
hlo_value_t* hlo_build_is_first(hlo_partitioner_t* p, hlo_axis_set_t axes);

// ---- partition_uneven.c: parts of unequal size

/// Sets is_uneven of the factors that the op computes rightly whatever is after the last element.
void hlo_find_uneven_factors(hlo_op_plan_t* plan);
/// Replaces what is after the last element in local operands, along dimensions whose elements the
/// op combines, by what changes no result.
hlo_status_t hlo_mask_uneven(hlo_op_plan_t* plan, hlo_value_t** operands) HLO_MUST_USE;
/// The same for the operand of plan->cumulative.
hlo_status_t hlo_mask_cumulative(hlo_op_plan_t* plan, hlo_value_t** operands) HLO_MUST_USE;

// ---- partition_terms.c

/// Sets plan->unreduced: sums of results that were decided to stay undone.
void hlo_find_terms(hlo_op_plan_t* plan);
/// Returns true if the op takes the terms of a sum as this tensor.
bool hlo_is_term(const hlo_op_plan_t* plan, uint32_t tensor);

// ---- partition_ops.c

/// Builds the local form of an op by its sharding rule, or with whole operands.
hlo_status_t hlo_partition_op(hlo_partitioner_t* p, hlo_node_t* node) HLO_MUST_USE;

/// Erases collectives and ops without effects that nothing uses, in a region and those inside.
/// Every device does, so that none waits for another.
void hlo_drop_unused(hlo_partitioner_t* p, hlo_region_t* region);

/// Returns the discardable attributes of an op without its shardings.
const hlo_attr_t* hlo_local_extra(hlo_partitioner_t* p, const hlo_attr_t* extra);

// ---- partition_calls.c

/// Appends the end of a region with the given operands; NULL when memory is exhausted.
hlo_node_t* hlo_end_region(hlo_partitioner_t* p, hlo_region_t* region, uint32_t count,
                           hlo_value_t* const* operands);
/// Finds the only device that is to run an op; -1: all of them.
hlo_status_t hlo_find_single_device(hlo_partitioner_t* p, const hlo_node_t* node,
                                    int64_t* out_device) HLO_MUST_USE;
/// Builds a custom call that one device makes for all.
hlo_status_t hlo_partition_on_device(hlo_partitioner_t* p, hlo_node_t* node,
                                     int64_t device) HLO_MUST_USE;
/// Builds a custom call that each device makes with its own parts of the operands. Its results are
/// tokens.
/// errors : UNIMPLEMENTED (a result with elements)
hlo_status_t hlo_partition_per_part(hlo_partitioner_t* p, hlo_node_t* node) HLO_MUST_USE;

// ---- partition_custom.c

/// Returns the form of a spec in GSPMD.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_spec_to_op_sharding(hlo_spmd_t* spmd, const hlo_spec_t* spec,
                                     hlo_op_sharding_t* out) HLO_MUST_USE;
/// Returns the spec of a value with `rank` dimensions that a sharding of GSPMD means.
/// errors : INVALID_ARGUMENT (of another rank or number of devices), UNIMPLEMENTED (tiles that are
/// no axes of the grid), RESOURCE_EXHAUSTED
hlo_status_t hlo_spec_from_op_sharding(hlo_spmd_t* spmd, const hlo_op_sharding_t* sharding,
                                       uint32_t rank, const hlo_spec_t** out_spec) HLO_MUST_USE;

/// Returns true for a custom call that the application partitions.
bool hlo_is_custom_partitioned(const hlo_partitioner_t* p, const hlo_node_t* node);
/// Builds what the application computes for it on one device.
hlo_status_t hlo_partition_custom(hlo_partitioner_t* p, hlo_node_t* node) HLO_MUST_USE;
/// Returns true for a call that shows the application how its operand is divided.
bool hlo_is_inspection(const hlo_node_t* node);
/// Shows it; no device computes anything for the call.
hlo_status_t hlo_partition_inspection(hlo_partitioner_t* p, hlo_node_t* node) HLO_MUST_USE;

// ---- reshard_path.c

typedef enum hlo_reshard_kind {
  HLO_RESHARD_SLICE,
  HLO_RESHARD_PERMUTE,
  HLO_RESHARD_TRANSPOSE,
  HLO_RESHARD_GATHER,
} hlo_reshard_kind_t;

typedef struct hlo_reshard_step {
  hlo_reshard_kind_t kind;
  const hlo_spec_t* to;
} hlo_reshard_step_t;

typedef struct hlo_reshard_path {
  uint32_t step_count;
  hlo_reshard_step_t* steps;
  double bytes;  // that a device receives, and what the collectives cost in themselves
} hlo_reshard_path_t;

/// Finds the cheapest steps between specs without partial sums. `summed`: axes that no step may
/// use. errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_find_reshard_path(hlo_partitioner_t* p, const hlo_type_t* type,
                                   const hlo_spec_t* from, const hlo_spec_t* to,
                                   hlo_axis_set_t summed, hlo_reshard_path_t* out) HLO_MUST_USE;
/// Returns the cost of hlo_reshard() in bytes that a device receives.
double hlo_reshard_bytes(hlo_partitioner_t* p, const hlo_type_t* type, const hlo_spec_t* from,
                         const hlo_spec_t* to);

// ---- reshard.c

/// Returns a value of global type `type` under another spec.
hlo_value_t* hlo_reshard(hlo_partitioner_t* p, hlo_value_t* local, const hlo_type_t* type,
                         const hlo_spec_t* from, const hlo_spec_t* to);

// ---- partition_collectives.c

/// Returns the index of the device along a list of axes, major to minor: a scalar of type s32.
hlo_value_t* hlo_axis_index(hlo_partitioner_t* p, const uint8_t* axes, uint32_t count);
/// Returns `index` * `factor` (s32).
hlo_value_t* hlo_scaled_index(hlo_partitioner_t* p, hlo_value_t* index, int64_t factor);
/// Gathers dimension `dim` over axes that divide it, which are its minor ones.
hlo_value_t* hlo_build_all_gather(hlo_partitioner_t* p, hlo_value_t* local, uint32_t dim,
                                  const uint8_t* axes, uint32_t count);
/// Moves axes from the minor end of dimension `from` to the minor end of dimension `to`.
hlo_value_t* hlo_build_all_to_all(hlo_partitioner_t* p, hlo_value_t* local, uint32_t from,
                                  uint32_t to, const uint8_t* axes, uint32_t count);
/// Combines values over a set of axes. `reducer`: a binary op, or HLO_OP_COUNT for `body`, a region
/// that is copied.
/// shapes : values[i] -> results[i] of the same type
hlo_status_t hlo_build_all_reduce(hlo_partitioner_t* p, uint32_t value_count,
                                  hlo_value_t* const* values, hlo_axis_set_t axes, hlo_op_t reducer,
                                  const hlo_region_t* body, hlo_value_t** results) HLO_MUST_USE;
/// Fills in the empty region of a node with a copy of another op's body.
hlo_status_t hlo_copy_body(hlo_partitioner_t* p, hlo_node_t* node,
                           const hlo_region_t* body) HLO_MUST_USE;
/// Returns the number of axes in a set, and lists them in order.
uint32_t hlo_list_axes(const hlo_grid_t* grid, hlo_axis_set_t set, uint8_t* axes);
/// Returns a scalar of type s32.
hlo_value_t* hlo_build_s32(hlo_partitioner_t* p, int64_t value);
/// Sums over axes and leaves each device its part along `dim`.
hlo_value_t* hlo_build_reduce_scatter(hlo_partitioner_t* p, hlo_value_t* local, uint32_t dim,
                                      const uint8_t* axes, uint32_t count);
/// Sends an argument of the entry from the devices of a permuted mesh, or a result to them.
hlo_value_t* hlo_build_mesh_permute(hlo_partitioner_t* p, hlo_value_t* local,
                                    const hlo_grid_mesh_t* mesh, bool is_argument);
/// The device of position i gets the value of the device of position from[i], or zeros for
/// UINT32_MAX.
hlo_value_t* hlo_build_receive(hlo_partitioner_t* p, hlo_value_t* local, const uint32_t* from);
/// Device of position targets[i] gets the value of the device of position i.
hlo_value_t* hlo_build_permute(hlo_partitioner_t* p, hlo_value_t* local, const uint32_t* targets);
