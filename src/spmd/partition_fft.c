// SPDX-License-Identifier: Apache-2.0
// Transforms of several dimensions of which one is divided (see partition_impl.h): the others are
// transformed first, then the division moves to one of them by an all_to_all, then the last one is.
// Each device transforms a part, where after a gather all would transform everything.
#include <string.h>

#include "base/mem.h"
#include "ir/fft.h"
#include "passes/build.h"
#include "spmd/partition_impl.h"

// A transform in two steps.
typedef struct split_fft {
  hlo_op_plan_t* plan;
  hlo_fft_shape_t shape;
  uint32_t rank, first;  // the first transformed dimension
  uint32_t divided;      // the dimension that is divided at first,
  uint32_t other;        // and the one that is afterwards
  hlo_dim_axes_t axes;
} split_fft_t;

// Returns the number of elements of a dimension between the steps.
static int64_t size_between(const split_fft_t* f, uint32_t dim) {
  const hlo_node_t* node = f->plan->node;
  const hlo_type_t *in = hlo_node_operand_type(node, 0), *out = node->results[0].type;
  // The last dimension of a transform of real numbers is shorter after it, or before.
  return f->shape.type == HLO_FFT_TYPE_RFFT ? out->dims[dim] : in->dims[dim];
}

// Finds the steps. The last dimension comes first from real numbers, and last to real numbers.
static bool find_steps(hlo_op_plan_t* plan, split_fft_t* f) {
  hlo_partitioner_t* p = plan->p;
  const hlo_value_t* value = hlo_node_operand(plan->node, 0);
  const hlo_spec_t* spec = hlo_spec_even(p->spmd, hlo_spmd_value_spec(p->spmd, value), value->type);
  const uint32_t last = f->rank - 1;
  uint32_t count = 0;
  for (uint32_t d = f->first; spec && d < f->rank; ++d) {
    const uint8_t* axes;
    const uint32_t axis_count = hlo_spec_dim(spec, d, &axes);
    if (!axis_count || (plan->used & hlo_axis_set(axes, axis_count))) continue;
    f->divided = d;
    f->axes.count = axis_count;
    memcpy(f->axes.axes, axes, axis_count);
    ++count;
  }
  if (count != 1 || (f->shape.type == HLO_FFT_TYPE_RFFT && f->divided == last) ||
      (f->shape.type == HLO_FFT_TYPE_IRFFT && f->divided != last)) {
    return false;
  }
  const int64_t parts = hlo_grid_size(p->grid, f->axes.axes, f->axes.count);
  for (uint32_t d = f->first; d < f->rank; ++d) {
    if (d == f->divided || size_between(f, d) % parts) continue;
    f->other = d;
    return true;
  }
  return false;
}

// Transforms some dimensions of a local value: they become the last ones for that.
static hlo_value_t* transform(const split_fft_t* f, hlo_value_t* value, const uint32_t* dims,
                              uint32_t count, int64_t type) {
  hlo_node_t* at = f->plan->p->at;
  hlo_module_t* module = f->plan->p->module;
  int64_t order[HLO_RANK_MAX], back[HLO_RANK_MAX], sizes[HLO_RANK_MAX], lengths[HLO_RANK_MAX];
  uint32_t next = 0;
  for (uint32_t d = 0; d < f->rank; ++d) {
    bool is_transformed = false;
    for (uint32_t i = 0; i < count; ++i) is_transformed |= dims[i] == d;
    if (!is_transformed) order[next++] = d;
  }
  const bool is_moved = dims[0] != f->rank - count;
  for (uint32_t i = 0; i < count; ++i) {
    lengths[i] = f->shape.length[dims[i] - f->first];
    order[next++] = dims[i];
  }
  for (uint32_t d = 0; d < f->rank; ++d) back[order[d]] = d;
  if (is_moved) value = hlo_build_transpose(at, value, order);
  if (!value) return NULL;
  memcpy(sizes, value->type->dims, f->rank * sizeof *sizes);
  const hlo_type_t* result = f->plan->node->results[0].type;
  const bool is_from_real = type == HLO_FFT_TYPE_RFFT, is_to_real = type == HLO_FFT_TYPE_IRFFT;
  if (is_from_real || is_to_real) sizes[f->rank - 1] = result->dims[f->rank - 1];
  const hlo_type_t* like = is_from_real || is_to_real ? result : value->type;
  const hlo_named_attr_t attrs[] = {
      {HLO_ATTR_fft_type, hlo_node_attr(f->plan->node, HLO_ATTR_fft_type)},
      {HLO_ATTR_fft_length, hlo_attr_ints(module, count, lengths)}};
  hlo_value_t* transformed = hlo_build_node(
      at, HLO_OP_fft, hlo_type_with_dims(module, like, f->rank, sizes), 1, &value, 2, attrs);
  if (transformed && type != f->shape.type) {
    hlo_node_set_attr(transformed->def, HLO_ATTR_fft_type,
                      hlo_attr_enum(module, HLO_ENUM_FFT_TYPE, type));
  }
  return transformed && is_moved ? hlo_build_transpose(at, transformed, back) : transformed;
}

hlo_status_t hlo_partition_fft(hlo_op_plan_t* plan, bool* out_is_built) {
  hlo_partitioner_t* p = plan->p;
  hlo_node_t* node = plan->node;
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  split_fft_t f = {.plan = plan, .rank = type->rank};
  *out_is_built = false;
  if (hlo_node_ints(node, HLO_ATTR_fft_length).count < 2) return hlo_ok();
  HLO_TRY(hlo_fft_shape_read(node, type->dtype, type->rank, type->dims, &f.shape));
  f.first = f.rank - f.shape.axes;
  if (!find_steps(plan, &f)) return hlo_ok();
  uint32_t dims[HLO_RANK_MAX], count = 0;
  for (uint32_t d = f.first; d < f.rank; ++d) {
    if (d != f.divided) dims[count++] = d;
  }
  const int64_t kind = f.shape.type;
  const int64_t complex_kind = hlo_fft_is_inverse(&f.shape) ? HLO_FFT_TYPE_IFFT : HLO_FFT_TYPE_FFT;
  const hlo_spec_t* before =
      hlo_spec_with_dim(p, plan->specs[0], f.divided, f.axes.axes, f.axes.count);
  const hlo_spec_t* after =
      hlo_spec_with_dim(p, plan->specs[0], f.other, f.axes.axes, f.axes.count);
  hlo_value_t* value = hlo_local_get(p, hlo_node_operand(node, 0), before);
  value = value
              ? transform(&f, value, dims, count, kind == HLO_FFT_TYPE_IRFFT ? complex_kind : kind)
              : NULL;
  if (!value || !before || !after) return hlo_partitioner_status(p);
  int64_t sizes[HLO_RANK_MAX];
  for (uint32_t d = 0; d < f.rank; ++d) sizes[d] = size_between(&f, d);
  const hlo_type_t* between = hlo_type_with_dims(p->module, value->type, f.rank, sizes);
  value = between ? hlo_reshard(p, value, between, before, after) : NULL;
  if (value) {
    value = transform(&f, value, &f.divided, 1, kind == HLO_FFT_TYPE_RFFT ? complex_kind : kind);
  }
  *out_is_built = true;
  return hlo_local_set(p, &node->results[0], after, value);
}
