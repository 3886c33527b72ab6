// SPDX-License-Identifier: Apache-2.0
// Reference functions of collectives: every member of a group contributes its operands, receives
// those of all others, and computes its own results from them.
#include <string.h>

#include "base/mem.h"
#include "interp/eval_impl.h"
#include "ir/process_groups.h"

/// The group of a collective and the operands that its members contributed.
typedef struct gathered {
  bool is_pending;
  uint32_t member_count;  // 0: the process is in no group
  uint32_t own_index;     // position in the group
  uint32_t tensor_count;
  uint32_t* members;
  hlo_tensor_t** parts;  // member-major
} gathered_t;

static void gathered_release(gathered_t* all) {
  for (uint32_t i = 0; all->parts && i < all->member_count * all->tensor_count; ++i) {
    hlo_tensor_release(all->parts[i]);
  }
  hlo_mem_free(all->parts);
  hlo_mem_free(all->members);
  *all = (gathered_t){0};
}

// The members of a group run the same op, so their tensors must have equal types.
static hlo_status_t check_alike(const hlo_node_t* node, const gathered_t* all) {
  hlo_tensor_t* const* own = &all->parts[all->own_index * all->tensor_count];
  for (uint32_t i = 0; i < all->member_count * all->tensor_count; ++i) {
    const hlo_tensor_t *part = all->parts[i], *mine = own[i % all->tensor_count];
    if (part->kind != HLO_TYPE_TENSOR || part->dtype != mine->dtype || part->rank != mine->rank ||
        memcmp(part->dims, mine->dims, mine->rank * sizeof(*mine->dims)) != 0) {
      return hlo_node_invalid(node,
                              "the members of the group contribute different types or shapes");
    }
  }
  return hlo_ok();
}

static hlo_status_t meet(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                         gathered_t* all) {
  const hlo_process_grid_t* grid = eval->options.grid;
  size_t bytes = (size_t)all->member_count * all->tensor_count * sizeof(*all->parts);
  all->parts = hlo_mem_alloc_zeroed(bytes);
  if (!all->parts) return hlo_status_out_of_memory(bytes);
  if (all->member_count == 1) {
    for (uint32_t i = 0; i < all->tensor_count; ++i) all->parts[i] = hlo_tensor_retain(operands[i]);
    return hlo_ok();
  }
  hlo_rendezvous_t rendezvous = {.node = node,
                                 .channel_id = hlo_node_attr_int(node, HLO_ATTR_channel_id, 0),
                                 .process = eval->options.process,
                                 .member_count = all->member_count,
                                 .members = all->members,
                                 .tensor_count = all->tensor_count,
                                 .tensors = operands};
  HLO_TRY(grid->meet(grid->context, &rendezvous, &eval->op_state, all->parts, &all->is_pending));
  if (!all->is_pending) return check_alike(node, all);
  hlo_eval_suspend(eval);
  return hlo_ok();
}

// Finds the group and gathers the first `tensor_count` operands of its members. `all` is empty on
// failure and when the op has to wait (is_pending).
static hlo_status_t gather_operands(hlo_eval_t* eval, const hlo_node_t* node,
                                    hlo_group_strategy_t strategy, const hlo_attr_t* groups,
                                    uint32_t tensor_count, hlo_tensor_t** operands,
                                    gathered_t* all) {
  const hlo_process_grid_t* grid = eval->options.grid;
  uint32_t replicas = grid ? grid->replica_count : 1;
  uint32_t partitions = grid ? grid->partition_count : 1;
  uint32_t process = grid ? eval->options.process : 0;
  *all = (gathered_t){.tensor_count = tensor_count};
  if (tensor_count > node->operand_count || node->result_count > tensor_count) {
    return hlo_node_invalid(node, "%u operands for %u results", node->operand_count,
                            node->result_count);
  }
  all->members = hlo_mem_alloc((size_t)replicas * partitions * sizeof(*all->members));
  if (!all->members) return hlo_status_out_of_memory((size_t)replicas * partitions * 4);
  hlo_status_t status = hlo_group_members(node, strategy, groups, replicas, partitions, process,
                                          all->members, &all->member_count);
  for (uint32_t i = 0; i < all->member_count; ++i) {
    if (all->members[i] == process) all->own_index = i;
  }
  if (hlo_status_is_ok(status) && all->member_count) status = meet(eval, node, operands, all);
  if (!hlo_status_is_ok(status) || all->is_pending) {
    bool is_pending = all->is_pending;
    gathered_release(all);
    all->is_pending = is_pending && hlo_status_is_ok(status);
  }
  return status;
}

static hlo_status_t gather_groups(hlo_eval_t* eval, const hlo_node_t* node, uint32_t tensor_count,
                                  hlo_tensor_t** operands, gathered_t* all) {
  HLO_TRY(gather_operands(eval, node, hlo_group_strategy(node),
                          hlo_node_attr(node, HLO_ATTR_replica_groups), tensor_count, operands,
                          all));
  if (!all->is_pending && !all->member_count) {
    return hlo_node_invalid(node, "process %u is not in any of the replica_groups",
                            eval->options.process);
  }
  return hlo_ok();
}

// ---- slices of tensors --------------------------------------------------------------------------

/// A tensor seen as outer x dim x inner bytes.
typedef struct sliced {
  size_t outer, dim, inner_bytes;
} sliced_t;

static sliced_t sliced_along(const hlo_tensor_t* tensor, uint32_t axis) {
  sliced_t s = {.outer = 1,
                .dim = (size_t)tensor->dims[axis],
                .inner_bytes = hlo_dtype_size_bytes(tensor->dtype)};
  for (uint32_t d = 0; d < axis; ++d) s.outer *= (size_t)tensor->dims[d];
  for (uint32_t d = axis + 1; d < tensor->rank; ++d) s.inner_bytes *= (size_t)tensor->dims[d];
  return s;
}

// Copies `count` indices of `axis` from `in` (from in_start) to `out` (from out_start).
static void copy_indices(const hlo_tensor_t* in, uint32_t axis, size_t in_start, size_t count,
                         hlo_tensor_t* out, size_t out_start) {
  sliced_t from = sliced_along(in, axis);
  sliced_t to = sliced_along(out, axis);
  for (size_t i = 0; i < from.outer; ++i) {
    memcpy((uint8_t*)out->data + (i * to.dim + out_start) * to.inner_bytes,
           (const uint8_t*)in->data + (i * from.dim + in_start) * from.inner_bytes,
           count * from.inner_bytes);
  }
}

static bool check_axis(const hlo_node_t* node, hlo_attr_id_t id, const hlo_tensor_t* tensor,
                       uint32_t* out_axis) {
  int64_t axis = hlo_node_attr_int(node, id, 0);
  *out_axis = (uint32_t)axis;
  return axis >= 0 && axis < (int64_t)tensor->rank;
}

static hlo_status_t axis_error(const hlo_node_t* node) {
  return hlo_node_invalid(node, "a dimension attribute is out of range for the operand");
}

static hlo_status_t zero_result(hlo_eval_t* eval, const hlo_node_t* node, uint32_t i,
                                const hlo_tensor_t* like, hlo_tensor_t** results) {
  HLO_TRY(hlo_eval_result_dims(eval, node, i, like->rank, like->dims, &results[i]));
  const hlo_quant_t* quant = results[i]->quant;
  memset(results[i]->data, 0, results[i]->size_bytes);
  if (!quant || quant->count != 1 || quant->zero_points[0] == 0) return hlo_ok();
  size_t width = hlo_dtype_size_bytes(results[i]->dtype);
  for (int64_t k = 0; k < results[i]->element_count; ++k) {
    hlo_dtype_store_int64(results[i]->dtype, (uint8_t*)results[i]->data + (size_t)k * width,
                          quant->zero_points[0]);
  }
  return hlo_ok();
}

// ---- gathering and exchanging -------------------------------------------------------------------

// Concatenates tensor `i` of all members along `axis`.
static hlo_status_t concatenate(hlo_eval_t* eval, const hlo_node_t* node, const gathered_t* all,
                                uint32_t i, uint32_t axis, hlo_tensor_t** results) {
  int64_t dims[HLO_RANK_MAX];
  const hlo_tensor_t* own = all->parts[all->own_index * all->tensor_count + i];
  memcpy(dims, own->dims, own->rank * sizeof(*dims));
  if (__builtin_mul_overflow(dims[axis], (int64_t)all->member_count, &dims[axis])) {
    return axis_error(node);
  }
  HLO_TRY(hlo_eval_result_dims(eval, node, i, own->rank, dims, &results[i]));
  for (uint32_t m = 0; m < all->member_count; ++m) {
    size_t count = (size_t)own->dims[axis];
    copy_indices(all->parts[m * all->tensor_count + i], axis, 0, count, results[i], m * count);
  }
  return hlo_ok();
}

hlo_status_t hlo_ref_all_gather(HLO_REF_ARGUMENTS) {
  gathered_t all;
  uint32_t axis = 0;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!check_axis(node, HLO_ATTR_all_gather_dim, operands[i], &axis)) return axis_error(node);
  }
  HLO_TRY(gather_groups(eval, node, node->operand_count, operands, &all));
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; !all.is_pending && i < node->result_count; ++i) {
    if (hlo_status_is_ok(status)) status = concatenate(eval, node, &all, i, axis, results);
  }
  gathered_release(&all);
  return status;
}

// Concatenates slice own_index of `count` of every member's tensor i.
static hlo_status_t exchange_slices(hlo_eval_t* eval, const hlo_node_t* node, const gathered_t* all,
                                    uint32_t i, int64_t pieces, uint32_t split, uint32_t concat,
                                    hlo_tensor_t** results) {
  const hlo_tensor_t* own = all->parts[all->own_index * all->tensor_count + i];
  int64_t dims[HLO_RANK_MAX];
  memcpy(dims, own->dims, own->rank * sizeof(*dims));
  dims[split] /= pieces;
  int64_t piece_dims[HLO_RANK_MAX];
  memcpy(piece_dims, dims, own->rank * sizeof(*dims));
  if (__builtin_mul_overflow(dims[concat], pieces, &dims[concat])) return axis_error(node);
  HLO_TRY(hlo_eval_result_dims(eval, node, i, own->rank, dims, &results[i]));
  hlo_tensor_t* piece = NULL;
  HLO_TRY(hlo_tensor_create(own->dtype, own->rank, piece_dims, &piece));
  for (uint32_t m = 0; m < all->member_count; ++m) {
    size_t count = (size_t)piece_dims[split];
    copy_indices(all->parts[m * all->tensor_count + i], split, all->own_index * count, count, piece,
                 0);
    count = (size_t)piece_dims[concat];
    copy_indices(piece, concat, 0, count, results[i], m * count);
  }
  hlo_tensor_release(piece);
  return hlo_ok();
}

hlo_status_t hlo_ref_all_to_all(HLO_REF_ARGUMENTS) {
  gathered_t all;
  uint32_t split = 0, concat = 0;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!check_axis(node, HLO_ATTR_split_dimension, operands[i], &split) ||
        !check_axis(node, HLO_ATTR_concat_dimension, operands[i], &concat)) {
      return axis_error(node);
    }
  }
  HLO_TRY(gather_groups(eval, node, node->operand_count, operands, &all));
  int64_t pieces = hlo_node_attr_int(node, HLO_ATTR_split_count, all.member_count);
  hlo_status_t status = hlo_ok();
  if (!all.is_pending && pieces != (int64_t)all.member_count) {
    status = hlo_node_invalid(node, "split_count is %lld, the group has %u members",
                              (long long)pieces, all.member_count);
  }
  for (uint32_t i = 0; !all.is_pending && i < node->result_count; ++i) {
    if (!hlo_status_is_ok(status)) break;
    status = operands[i]->dims[split] % pieces
                 ? axis_error(node)
                 : exchange_slices(eval, node, &all, i, pieces, split, concat, results);
  }
  gathered_release(&all);
  return status;
}

// Returns the member that result i comes from or goes to: the first, or the one named by the last
// operand.
static hlo_status_t root_of(const hlo_node_t* node, const gathered_t* all,
                            hlo_tensor_t* const* operands, uint32_t i, uint32_t* out_root) {
  *out_root = 0;
  if (!hlo_node_attr_bool(node, HLO_ATTR_has_dynamic_root, false)) return hlo_ok();
  const hlo_tensor_t* roots = operands[node->operand_count - 1];
  int64_t root = i < roots->element_count ? hlo_tensor_int(roots, i) : -1;
  if (root < 0 || root >= (int64_t)all->member_count) {
    return hlo_node_invalid(node, "the root is member %lld of a group of %u", (long long)root,
                            all->member_count);
  }
  *out_root = (uint32_t)root;
  return hlo_ok();
}

hlo_status_t hlo_ref_collective_broadcast(HLO_REF_ARGUMENTS) {
  gathered_t all;
  HLO_TRY(gather_operands(eval, node, hlo_group_strategy(node),
                          hlo_node_attr(node, HLO_ATTR_replica_groups), node->result_count,
                          operands, &all));
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; !all.is_pending && i < node->result_count; ++i) {
    uint32_t root = 0;
    if (!hlo_status_is_ok(status)) break;
    if (!all.member_count) {
      status = zero_result(eval, node, i, operands[i], results);
      continue;
    }
    status = root_of(node, &all, operands, i, &root);
    if (hlo_status_is_ok(status)) {
      results[i] = hlo_tensor_retain(all.parts[root * all.tensor_count + i]);
    }
  }
  gathered_release(&all);
  return status;
}

// Returns the operands of the source process, or zeros if no pair names this process as a target.
static hlo_status_t permute_operands(hlo_eval_t* eval, const hlo_node_t* node,
                                     const gathered_t* all, hlo_tensor_t** operands,
                                     hlo_tensor_t** results) {
  const hlo_attr_t* pairs = hlo_node_attr(node, HLO_ATTR_source_target_pairs);
  uint32_t k = 0, count = pairs ? pairs->count : 0;
  while (k + 1 < count && pairs->values[k + 1] != (int64_t)all->own_index) k += 2;
  const bool is_target = k + 1 < count;
  const int64_t source = is_target ? pairs->values[k] : 0;
  if (is_target && (source < 0 || source >= (int64_t)all->member_count)) {
    return hlo_node_invalid(node, "source_target_pairs: source %lld of %u processes",
                            (long long)source, all->member_count);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (is_target) {
      results[i] = hlo_tensor_retain(all->parts[(uint32_t)source * all->tensor_count + i]);
    } else {
      HLO_TRY(zero_result(eval, node, i, operands[i], results));
    }
  }
  return hlo_ok();
}

// Every process of the grid row takes part; the pairs say whose operands become the results.
hlo_status_t hlo_ref_collective_permute(HLO_REF_ARGUMENTS) {
  gathered_t all;
  HLO_TRY(gather_operands(eval, node, hlo_group_strategy(node), NULL, node->operand_count, operands,
                          &all));
  hlo_status_t status = hlo_ok();
  if (!all.is_pending) status = permute_operands(eval, node, &all, operands, results);
  gathered_release(&all);
  return status;
}

// ---- reducing -----------------------------------------------------------------------------------

// acc = op(acc, in), elementwise over dense tensors of one type.
static hlo_status_t accumulate_elements(hlo_region_fn_t* fn, const hlo_scalar_step_t* step,
                                        hlo_tensor_t* acc, const hlo_tensor_t* in) {
  if (step) {
    const void* args[2] = {acc->data, in->data};
    hlo_scalar_step_run_many(step, args, acc->data, (size_t)acc->element_count);
    return hlo_ok();
  }
  size_t width = hlo_dtype_size_bytes(acc->dtype);
  for (int64_t k = 0; k < acc->element_count; ++k) {
    void* place = (uint8_t*)acc->data + (size_t)k * width;
    const void* args[2] = {place, (const uint8_t*)in->data + (size_t)k * width};
    HLO_TRY(hlo_region_fn_call(fn, args, &place));
  }
  return hlo_ok();
}

// A copy of `in` in element type `dtype`.
static hlo_status_t converted_copy(const hlo_tensor_t* in, hlo_dtype_t dtype,
                                   hlo_tensor_t** out_tensor) {
  HLO_TRY(hlo_tensor_create(dtype, in->rank, in->dims, out_tensor));
  (*out_tensor)->quant = in->quant;
  if (in->dtype == dtype) {
    memcpy((*out_tensor)->data, in->data, in->size_bytes);
  } else {
    hlo_dtype_convert(in->dtype, in->data, dtype, (*out_tensor)->data, (size_t)in->element_count);
  }
  return hlo_ok();
}

// Folds tensor i of all members, first to last, in the element type of the computation.
static hlo_status_t fold_members(hlo_region_fn_t* fn, hlo_op_t op, const gathered_t* all,
                                 uint32_t i, hlo_dtype_t dtype, hlo_tensor_t** out_tensor) {
  hlo_tensor_t* acc = NULL;
  HLO_TRY(converted_copy(all->parts[i], dtype, &acc));
  const hlo_scalar_op_t scalar = {op, 2, {dtype, dtype}, dtype, 0, false};
  hlo_scalar_step_t step;
  bool is_plain = op != HLO_OP_COUNT && !acc->quant && hlo_scalar_op_prepare(&scalar, &step);
  hlo_status_t status = is_plain || fn || all->member_count == 1
                            ? hlo_ok()
                            : hlo_unimplemented("sums of quantized elements are not supported");
  for (uint32_t m = 1; m < all->member_count && hlo_status_is_ok(status); ++m) {
    const hlo_tensor_t* part = all->parts[m * all->tensor_count + i];
    hlo_tensor_t* converted = NULL;
    if (part->dtype != dtype) status = converted_copy(part, dtype, &converted);
    if (hlo_status_is_ok(status)) {
      status = accumulate_elements(fn, is_plain ? &step : NULL, acc, converted ? converted : part);
    }
    hlo_tensor_release(converted);
  }
  if (!hlo_status_is_ok(status)) {
    hlo_tensor_release(acc);
    return status;
  }
  *out_tensor = acc;
  return hlo_ok();
}

// The reduction of tensor i, in the element type of result i.
static hlo_status_t reduce_over(hlo_eval_t* eval, const hlo_node_t* node, const gathered_t* all,
                                uint32_t i, hlo_tensor_t** out_tensor) {
  hlo_region_fn_t* fn = NULL;
  hlo_dtype_t result_dtype = node->results[i].type->dtype;
  hlo_dtype_t dtype = all->parts[i]->dtype;
  hlo_op_t op = HLO_OP_add;
  if (node->region_count) {
    if (node->regions[0]->arg_count != 2) {
      return hlo_node_invalid(node, "the computation takes %u arguments",
                              node->regions[0]->arg_count);
    }
    HLO_TRY(hlo_region_fn_create(eval, node->regions[0], &fn));
    op = hlo_region_fn_binary(fn);
    dtype = node->regions[0]->args[0]->type->dtype;
  }
  dtype = hlo_group_accumulator(op, dtype);
  hlo_tensor_t* sum = NULL;
  hlo_status_t status = fold_members(fn, op, all, i, dtype, &sum);
  hlo_region_fn_release(fn);
  if (hlo_status_is_ok(status) && dtype != result_dtype) {
    hlo_tensor_t* wide = sum;
    sum = NULL;
    status = converted_copy(wide, result_dtype, &sum);
    hlo_tensor_release(wide);
  }
  if (hlo_status_is_ok(status)) {
    sum->quant = node->results[i].type->quant;
    *out_tensor = sum;
  }
  return status;
}

hlo_status_t hlo_ref_all_reduce(HLO_REF_ARGUMENTS) {
  gathered_t all;
  HLO_TRY(gather_groups(eval, node, node->result_count, operands, &all));
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; !all.is_pending && i < node->result_count; ++i) {
    if (hlo_status_is_ok(status)) status = reduce_over(eval, node, &all, i, &results[i]);
  }
  gathered_release(&all);
  return status;
}

HLO_REF_AS(cross_replica_sum, hlo_ref_all_reduce)

hlo_status_t hlo_ref_collective_reduce(HLO_REF_ARGUMENTS) {
  gathered_t all;
  HLO_TRY(gather_operands(eval, node, hlo_group_strategy(node),
                          hlo_node_attr(node, HLO_ATTR_replica_groups), node->result_count,
                          operands, &all));
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; !all.is_pending && i < node->result_count; ++i) {
    uint32_t root = 0;
    if (hlo_status_is_ok(status) && all.member_count) {
      status = root_of(node, &all, operands, i, &root);
    }
    if (!hlo_status_is_ok(status)) break;
    status = all.member_count && root == all.own_index
                 ? reduce_over(eval, node, &all, i, &results[i])
                 : zero_result(eval, node, i, operands[i], results);
  }
  gathered_release(&all);
  return status;
}

static hlo_status_t scatter_own(hlo_eval_t* eval, const hlo_node_t* node, const gathered_t* all,
                                uint32_t axis, hlo_tensor_t** results) {
  hlo_tensor_t* sum = NULL;
  HLO_TRY(reduce_over(eval, node, all, 0, &sum));
  int64_t dims[HLO_RANK_MAX];
  memcpy(dims, sum->dims, sum->rank * sizeof(*dims));
  hlo_status_t status = hlo_ok();
  if (dims[axis] % (int64_t)all->member_count) {
    status = axis_error(node);
  } else {
    dims[axis] /= (int64_t)all->member_count;
    status = hlo_eval_result_dims(eval, node, 0, sum->rank, dims, &results[0]);
  }
  if (hlo_status_is_ok(status)) {
    size_t count = (size_t)dims[axis];
    copy_indices(sum, axis, all->own_index * count, count, results[0], 0);
  }
  hlo_tensor_release(sum);
  return status;
}

hlo_status_t hlo_ref_reduce_scatter(HLO_REF_ARGUMENTS) {
  gathered_t all;
  uint32_t axis = 0;
  if (!check_axis(node, HLO_ATTR_scatter_dimension, operands[0], &axis)) return axis_error(node);
  HLO_TRY(gather_groups(eval, node, 1, operands, &all));
  hlo_status_t status = all.is_pending ? hlo_ok() : scatter_own(eval, node, &all, axis, results);
  gathered_release(&all);
  return status;
}

// ---- ragged -------------------------------------------------------------------------------------

// Rows [input_offsets[k], +send_sizes[k]) of member s go to rows output_offsets[k]... of member k.
static hlo_status_t copy_ragged(const hlo_node_t* node, const gathered_t* all, uint32_t sender,
                                hlo_tensor_t* out) {
  hlo_tensor_t* const* part = &all->parts[sender * all->tensor_count];
  const hlo_tensor_t *in = part[0], *in_offsets = part[1], *sizes = part[2], *out_offsets = part[3];
  int64_t pieces = in_offsets->element_count / all->member_count;
  for (int64_t p = 0; p < pieces; ++p) {
    int64_t at = all->own_index * pieces + p;
    int64_t from = hlo_tensor_int(in_offsets, at), to = hlo_tensor_int(out_offsets, at);
    int64_t count = hlo_tensor_int(sizes, at);
    if (from < 0 || to < 0 || count < 0 || count > in->dims[0] || from > in->dims[0] - count ||
        count > out->dims[0] || to > out->dims[0] - count) {
      return hlo_node_invalid(node, "a slice of %lld rows from %lld to %lld exceeds its tensors",
                              (long long)count, (long long)from, (long long)to);
    }
    copy_indices(in, 0, (size_t)from, (size_t)count, out, (size_t)to);
  }
  return hlo_ok();
}

hlo_status_t hlo_ref_hlo_ragged_all_to_all(HLO_REF_ARGUMENTS) {
  gathered_t all;
  hlo_tensor_t* parts[4] = {operands[0], operands[2], operands[3], operands[4]};
  if (operands[0]->rank == 0 || operands[1]->rank != operands[0]->rank) return axis_error(node);
  for (uint32_t i = 1; i < 4; ++i) {
    if (parts[i]->element_count != parts[1]->element_count) return axis_error(node);
  }
  HLO_TRY(gather_operands(eval, node, hlo_group_strategy(node),
                          hlo_node_attr(node, HLO_ATTR_replica_groups), 4, parts, &all));
  if (all.is_pending) return hlo_ok();
  hlo_status_t status = converted_copy(operands[1], operands[1]->dtype, &results[0]);
  for (uint32_t m = 0; m < all.member_count && hlo_status_is_ok(status); ++m) {
    status = copy_ragged(node, &all, m, results[0]);
  }
  gathered_release(&all);
  return status;
}
