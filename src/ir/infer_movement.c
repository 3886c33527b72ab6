// SPDX-License-Identifier: Apache-2.0
// Result types of constants and ops that move data.
#include <string.h>

#include "ir/infer_impl.h"

static hlo_status_t give_dims(hlo_infer_t* infer, const hlo_type_t* like, uint32_t rank,
                              const int64_t* dims) {
  if (rank > HLO_RANK_MAX) return hlo_infer_error("has a result of rank %u", rank);
  return hlo_infer_give(infer, hlo_type_with_dims(infer->module, like, rank, dims));
}

hlo_status_t hlo_infer_constant(hlo_infer_t* infer) {
  const hlo_attr_t* value = hlo_node_attr(infer->node, HLO_ATTR_value);
  if (!value || value->kind != HLO_ATTR_KIND_LITERAL) return hlo_infer_error("has no value");
  if (!hlo_type_is_static(value->type) ||
      hlo_type_element_count(value->type) != value->literal->element_count ||
      value->type->dtype != value->literal->dtype) {
    return hlo_infer_error("the value does not match its type");
  }
  return hlo_infer_give(infer, value->type);
}

HLO_INFER_AS(chlo_constant, hlo_infer_constant)
HLO_INFER_AS(sdy_constant, hlo_infer_constant)

hlo_status_t hlo_infer_broadcast(hlo_infer_t* infer) {
  const hlo_type_t* type = NULL;
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  uint32_t count;
  const int64_t* sizes = hlo_node_attr_ints(infer->node, HLO_ATTR_broadcast_sizes, &count);
  int64_t dims[2 * HLO_RANK_MAX];
  if (count + type->rank > HLO_RANK_MAX)
    return hlo_infer_error("has a result whose rank is too high");
  for (uint32_t i = 0; i < count; ++i) {
    if (sizes[i] < 0) return hlo_infer_error("broadcast_sizes has a negative size");
    dims[i] = sizes[i];
  }
  memcpy(dims + count, type->dims, type->rank * sizeof *dims);
  return give_dims(infer, type, count + type->rank, dims);
}

hlo_status_t hlo_infer_concatenate(hlo_infer_t* infer) {
  const hlo_node_t* node = infer->node;
  const hlo_type_t* first = NULL;
  if (node->operand_count == 0) return hlo_infer_error("has no operand");
  HLO_TRY(hlo_infer_tensor(infer, 0, &first));
  int64_t dims[HLO_RANK_MAX], dim;
  HLO_TRY(hlo_infer_dim(node, HLO_ATTR_dimension, first->rank, &dim));
  memcpy(dims, first->dims, first->rank * sizeof *dims);
  for (uint32_t i = 1; i < node->operand_count; ++i) {
    const hlo_type_t* other = NULL;
    HLO_TRY(hlo_infer_tensor(infer, i, &other));
    if (other->rank != first->rank || (!first->quant && other->dtype != first->dtype)) {
      return hlo_infer_error("operands 0 and %u differ in rank or element type", i);
    }
    for (uint32_t d = 0; d < first->rank; ++d) {
      if (d == (uint32_t)dim) {
        bool known = hlo_dim_is_known(dims[d]) && hlo_dim_is_known(other->dims[d]);
        if (!known) dims[d] = HLO_DIM_DYNAMIC;
        if (known && __builtin_add_overflow(dims[d], other->dims[d], &dims[d])) {
          return hlo_infer_error("the result overflows");
        }
      } else if (!hlo_dims_agree(dims[d], other->dims[d])) {
        return hlo_infer_error("operands 0 and %u differ in dimension %u", i, d);
      } else {
        dims[d] = hlo_dim_meet(dims[d], other->dims[d]);
      }
    }
  }
  return give_dims(infer, first, first->rank, dims);
}

// Checks the start indices from operand `first` on: scalars, one per dimension, all of one integer
// type.
static hlo_status_t check_start_indices(const hlo_infer_t* infer, uint32_t first, uint32_t rank) {
  const hlo_node_t* node = infer->node;
  if (node->operand_count != first + rank) {
    return hlo_infer_error("has %u start indices, but the rank is %u", node->operand_count - first,
                           rank);
  }
  for (uint32_t i = first; i < node->operand_count; ++i) {
    const hlo_type_t* type = NULL;
    HLO_TRY(hlo_infer_tensor(infer, i, &type));
    if (type->rank != 0 || !hlo_dtype_is_integer(type->dtype) || type->quant ||
        type->dtype != hlo_node_operand_type(node, first)->dtype) {
      return hlo_infer_error(
          "start index %u is not a scalar of the same integer type as the others", i - first);
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_infer_dynamic_slice(hlo_infer_t* infer) {
  const hlo_type_t* type = NULL;
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  HLO_TRY(check_start_indices(infer, 1, type->rank));
  const int64_t* sizes;
  HLO_TRY(hlo_infer_ints(infer->node, HLO_ATTR_slice_sizes, type->rank, 0, &sizes));
  for (uint32_t i = 0; i < type->rank; ++i) {
    if (hlo_dim_is_known(type->dims[i]) && sizes[i] > type->dims[i]) {
      return hlo_infer_error("slice size %lld exceeds dimension %u, which has size %lld",
                             (long long)sizes[i], i, (long long)type->dims[i]);
    }
  }
  return give_dims(infer, type, type->rank, sizes);
}

hlo_status_t hlo_infer_dynamic_update_slice(hlo_infer_t* infer) {
  const hlo_type_t *type, *update;
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  HLO_TRY(hlo_infer_tensor(infer, 1, &update));
  HLO_TRY(check_start_indices(infer, 2, type->rank));
  if (update->rank != type->rank || (!type->quant && update->dtype != type->dtype)) {
    return hlo_infer_error("operand and update differ in rank or element type");
  }
  for (uint32_t i = 0; i < type->rank; ++i) {
    if (hlo_dim_is_known(type->dims[i]) && update->dims[i] > type->dims[i]) {
      return hlo_infer_error("the update exceeds dimension %u", i);
    }
  }
  return hlo_infer_give(infer, type);
}

hlo_status_t hlo_infer_slice(hlo_infer_t* infer) {
  const hlo_type_t* type = NULL;
  const int64_t *starts, *limits, *strides;
  int64_t dims[HLO_RANK_MAX];
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  HLO_TRY(hlo_infer_ints(infer->node, HLO_ATTR_start_indices, type->rank, 0, &starts));
  HLO_TRY(hlo_infer_ints(infer->node, HLO_ATTR_limit_indices, type->rank, 0, &limits));
  HLO_TRY(hlo_infer_ints(infer->node, HLO_ATTR_strides, type->rank, 1, &strides));
  for (uint32_t i = 0; i < type->rank; ++i) {
    if (!hlo_dim_is_known(type->dims[i])) {
      dims[i] = HLO_DIM_DYNAMIC;
      continue;
    }
    if (limits[i] > type->dims[i] || starts[i] > limits[i]) {
      return hlo_infer_error("slice [%lld, %lld) exceeds dimension %u of size %lld",
                             (long long)starts[i], (long long)limits[i], i,
                             (long long)type->dims[i]);
    }
    int64_t extent = limits[i] - starts[i];
    dims[i] = extent / strides[i] + (extent % strides[i] != 0);
  }
  return give_dims(infer, type, type->rank, dims);
}

hlo_status_t hlo_infer_pad(hlo_infer_t* infer) {
  const hlo_type_t *type, *value;
  const int64_t *low, *high, *interior;
  int64_t dims[HLO_RANK_MAX];
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  HLO_TRY(hlo_infer_tensor(infer, 1, &value));
  if (value->rank != 0 || (!type->quant && value->dtype != type->dtype)) {
    return hlo_infer_error("the padding value is not a scalar of the operand's element type");
  }
  HLO_TRY(hlo_infer_ints(infer->node, HLO_ATTR_edge_padding_low, type->rank, INT64_MIN, &low));
  HLO_TRY(hlo_infer_ints(infer->node, HLO_ATTR_edge_padding_high, type->rank, INT64_MIN, &high));
  HLO_TRY(hlo_infer_ints(infer->node, HLO_ATTR_interior_padding, type->rank, 0, &interior));
  for (uint32_t i = 0; i < type->rank; ++i) {
    int64_t dim = type->dims[i], inner = 0;
    if (!hlo_dim_is_known(dim)) {
      dims[i] = HLO_DIM_DYNAMIC;
      continue;
    }
    bool bad = low[i] == INT64_MIN || interior[i] == INT64_MAX;
    bad = bad || (dim > 1 && __builtin_mul_overflow(dim - 1, interior[i], &inner));
    bad = bad || __builtin_add_overflow(dim, inner, &dim) ||
          __builtin_add_overflow(dim, low[i], &dim) || __builtin_add_overflow(dim, high[i], &dim);
    if (bad || dim < 0)
      return hlo_infer_error("padding makes the size of dimension %u negative or too large", i);
    dims[i] = dim;
  }
  return give_dims(infer, type, type->rank, dims);
}

hlo_status_t hlo_infer_reverse(hlo_infer_t* infer) {
  const hlo_type_t* type = NULL;
  const int64_t* dims;
  uint32_t count;
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  HLO_TRY(hlo_infer_dims(infer->node, HLO_ATTR_dimensions, type->rank, &dims, &count));
  return hlo_infer_give(infer, type);
}

hlo_status_t hlo_infer_transpose(hlo_infer_t* infer) {
  const hlo_type_t* type = NULL;
  const int64_t* permutation;
  uint32_t count;
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  HLO_TRY(hlo_infer_dims(infer->node, HLO_ATTR_permutation, type->rank, &permutation, &count));
  if (count != type->rank) return hlo_infer_error("permutation has %u values", count);
  int64_t dims[HLO_RANK_MAX], bounds[HLO_RANK_MAX];
  for (uint32_t i = 0; i < count; ++i) {
    dims[i] = type->dims[permutation[i]];
    if (type->bounds) bounds[i] = type->bounds[permutation[i]];
  }
  hlo_type_t fields = *type;
  hlo_quant_t quant;
  fields.dims = dims;
  if (type->bounds) fields.bounds = bounds;
  if (type->quant && type->quant->axis >= 0) {
    quant = *type->quant;
    for (uint32_t i = 0; i < count; ++i) {
      if (permutation[i] == type->quant->axis) quant.axis = (int32_t)i;
    }
    fields.quant = &quant;
  }
  return hlo_infer_give(infer, hlo_type_intern(infer->module, &fields));
}

hlo_status_t hlo_infer_get_dimension_size(hlo_infer_t* infer) {
  const hlo_type_t* type = NULL;
  int64_t dim;
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  HLO_TRY(hlo_infer_dim(infer->node, HLO_ATTR_dimension, type->rank, &dim));
  return hlo_infer_give(infer, hlo_type_tensor(infer->module, HLO_DTYPE_S32, 0, NULL));
}

hlo_status_t hlo_infer_set_dimension_size(hlo_infer_t* infer) {
  const hlo_type_t *type, *size;
  int64_t dim, dims[HLO_RANK_MAX], bounds[HLO_RANK_MAX];
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  HLO_TRY(hlo_infer_tensor(infer, 1, &size));
  HLO_TRY(hlo_infer_dim(infer->node, HLO_ATTR_dimension, type->rank, &dim));
  if (size->rank != 0 || !hlo_dtype_is_integer(size->dtype)) {
    return hlo_infer_error("the size is not a scalar integer");
  }
  for (uint32_t i = 0; i < type->rank; ++i) {
    dims[i] = type->dims[i];
    bounds[i] = type->bounds ? type->bounds[i] : HLO_DIM_DYNAMIC;
  }
  if (hlo_dim_is_known(dims[dim])) bounds[dim] = dims[dim];
  dims[dim] = HLO_DIM_DYNAMIC;
  hlo_type_t fields = *type;
  fields.dims = dims;
  fields.bounds = bounds;
  return hlo_infer_give(infer, hlo_type_intern(infer->module, &fields));
}

hlo_status_t hlo_infer_chlo_top_k(hlo_infer_t* infer) {
  const hlo_type_t* type = NULL;
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  if (type->rank == 0) return hlo_infer_error("the operand is a scalar");
  int64_t k = hlo_node_attr_int(infer->node, HLO_ATTR_k, 0), dims[HLO_RANK_MAX];
  int64_t last = type->dims[type->rank - 1];
  if (k < 0 || (hlo_dim_is_known(last) && k > last)) {
    return hlo_infer_error("k is %lld, but the last dimension has size %lld", (long long)k,
                           (long long)last);
  }
  memcpy(dims, type->dims, type->rank * sizeof *dims);
  dims[type->rank - 1] = k;
  HLO_TRY(give_dims(infer, type, type->rank, dims));
  return hlo_infer_give(infer, hlo_type_tensor(infer->module, HLO_DTYPE_S32, type->rank, dims));
}

// ---- gather and scatter

// Batching dims come in pairs of equal size: one of the operand (in ascending order), one of the
// indices.
static hlo_status_t check_batching(const hlo_node_t* node, hlo_attr_id_t operand_id,
                                   hlo_attr_id_t index_id, const hlo_type_t* operand,
                                   const hlo_type_t* indices, int64_t index_vector_dim,
                                   const int64_t** out_dims, uint32_t* out_count) {
  const int64_t* index_dims;
  uint32_t index_count;
  HLO_TRY(hlo_infer_sorted_dims(node, operand_id, operand->rank, out_dims, out_count));
  HLO_TRY(hlo_infer_dims(node, index_id, indices->rank, &index_dims, &index_count));
  if (*out_count != index_count)
    return hlo_infer_error("operand and indices differ in the number of batching dims");
  for (uint32_t i = 0; i < index_count; ++i) {
    if (index_dims[i] == index_vector_dim) {
      return hlo_infer_error("%s contains the index vector dimension", hlo_attr_name(index_id));
    }
    if (!hlo_dims_agree(operand->dims[(*out_dims)[i]], indices->dims[index_dims[i]])) {
      return hlo_infer_error("paired batching dims differ in size");
    }
  }
  return hlo_ok();
}

typedef struct index_form {
  int64_t vector_dim;
  uint32_t dropped_count, batching_count, window_count;
  const int64_t *dropped, *batching, *window;
} index_form_t;

// Checks the attributes that gather and scatter share: `map` lists the operand dims that an index
// vector addresses.
static hlo_status_t check_index_form(const hlo_node_t* node, const hlo_type_t* operand,
                                     const hlo_type_t* indices, bool scatter, index_form_t* f) {
  f->vector_dim = hlo_node_attr_int(node, HLO_ATTR_index_vector_dim, 0);
  if (f->vector_dim < 0 || f->vector_dim > indices->rank) {
    return hlo_infer_error("index_vector_dim is %lld, but the rank of the indices is %u",
                           (long long)f->vector_dim, indices->rank);
  }
  if (!hlo_dtype_is_integer(indices->dtype) || indices->quant) {
    return hlo_infer_error("indices are not integers");
  }
  HLO_TRY(hlo_infer_sorted_dims(
      node, scatter ? HLO_ATTR_inserted_window_dims : HLO_ATTR_collapsed_slice_dims, operand->rank,
      &f->dropped, &f->dropped_count));
  HLO_TRY(check_batching(
      node, scatter ? HLO_ATTR_input_batching_dims : HLO_ATTR_operand_batching_dims,
      scatter ? HLO_ATTR_scatter_indices_batching_dims : HLO_ATTR_start_indices_batching_dims,
      operand, indices, f->vector_dim, &f->batching, &f->batching_count));
  const int64_t* map;
  uint32_t map_count;
  HLO_TRY(hlo_infer_dims(node,
                         scatter ? HLO_ATTR_scatter_dims_to_operand_dims : HLO_ATTR_start_index_map,
                         operand->rank, &map, &map_count));
  int64_t vector = f->vector_dim < indices->rank ? indices->dims[f->vector_dim] : 1;
  if (!hlo_dims_agree(vector, map_count)) {
    return hlo_infer_error("index vectors have %lld components, but %u dimensions are indexed",
                           (long long)vector, map_count);
  }
  for (uint32_t i = 0; i < f->batching_count; ++i) {
    if (hlo_dims_contain(map, map_count, f->batching[i], NULL) ||
        hlo_dims_contain(f->dropped, f->dropped_count, f->batching[i], NULL)) {
      return hlo_infer_error("dimension %lld is a batching dimension and also indexed or collapsed",
                             (long long)f->batching[i]);
    }
  }
  return hlo_ok();
}

static bool is_window_dim(const index_form_t* f, int64_t dim) {
  return !hlo_dims_contain(f->dropped, f->dropped_count, dim, NULL) &&
         !hlo_dims_contain(f->batching, f->batching_count, dim, NULL);
}

// Composes the shape of the result or the update: the dims listed in `window` are window dims, the
// others are the batch dims of the indices. `sizes` is indexed by operand dim.
static hlo_status_t compose_dims(const hlo_type_t* operand, const hlo_type_t* indices,
                                 const index_form_t* f, const int64_t* sizes, uint32_t* out_rank,
                                 int64_t* dims) {
  uint32_t batch_rank = indices->rank - (f->vector_dim < indices->rank ? 1 : 0);
  uint32_t rank = batch_rank + f->window_count, window = 0, batch = 0;
  if (rank > HLO_RANK_MAX) return hlo_infer_error("has a result of rank %u", rank);
  for (uint32_t i = 0; i < rank; ++i) {
    if (hlo_dims_contain(f->window, f->window_count, i, NULL)) {
      while (window < operand->rank && !is_window_dim(f, window)) ++window;
      if (window == operand->rank) return hlo_infer_error("has more window dims than the operand");
      dims[i] = sizes[window++];
    } else {
      if (batch == f->vector_dim) ++batch;
      if (batch >= indices->rank) return hlo_infer_error("has too few batch dims");
      dims[i] = indices->dims[batch++];
    }
  }
  *out_rank = rank;
  return hlo_ok();
}

static hlo_status_t check_window_count(const hlo_type_t* operand, const index_form_t* f) {
  if (f->window_count + f->dropped_count + f->batching_count != operand->rank) {
    return hlo_infer_error("%u window, %u collapsed and %u batching dims do not add up to rank %u",
                           f->window_count, f->dropped_count, f->batching_count, operand->rank);
  }
  return hlo_ok();
}

hlo_status_t hlo_infer_gather(hlo_infer_t* infer) {
  const hlo_node_t* node = infer->node;
  const hlo_type_t *operand, *indices;
  index_form_t f;
  HLO_TRY(hlo_infer_tensor(infer, 0, &operand));
  HLO_TRY(hlo_infer_tensor(infer, 1, &indices));
  HLO_TRY(check_index_form(node, operand, indices, false, &f));
  HLO_TRY(
      hlo_infer_sorted_dims(node, HLO_ATTR_offset_dims, HLO_RANK_MAX, &f.window, &f.window_count));
  HLO_TRY(check_window_count(operand, &f));
  const int64_t* sizes;
  HLO_TRY(hlo_infer_ints(node, HLO_ATTR_slice_sizes, operand->rank, 0, &sizes));
  for (uint32_t i = 0; i < operand->rank; ++i) {
    bool dropped = !is_window_dim(&f, i);
    if ((hlo_dim_is_known(operand->dims[i]) && sizes[i] > operand->dims[i]) ||
        (dropped && sizes[i] > 1)) {
      return hlo_infer_error("slice size %lld of dimension %u is too large", (long long)sizes[i],
                             i);
    }
  }
  int64_t dims[HLO_RANK_MAX];
  uint32_t rank;
  HLO_TRY(compose_dims(operand, indices, &f, sizes, &rank, dims));
  return give_dims(infer, operand, rank, dims);
}

static hlo_status_t check_update(const hlo_node_t* node, const hlo_type_t* operand,
                                 const hlo_type_t* indices, const hlo_type_t* update,
                                 index_form_t* f) {
  HLO_TRY(hlo_infer_sorted_dims(node, HLO_ATTR_update_window_dims, update->rank, &f->window,
                                &f->window_count));
  HLO_TRY(check_window_count(operand, f));
  int64_t dims[HLO_RANK_MAX];
  uint32_t rank;
  HLO_TRY(compose_dims(operand, indices, f, operand->dims, &rank, dims));
  if (rank != update->rank) {
    return hlo_infer_error("updates have rank %u, %u expected", update->rank, rank);
  }
  for (uint32_t i = 0; i < rank; ++i) {
    bool window = hlo_dims_contain(f->window, f->window_count, i, NULL);
    bool fits = window ? !hlo_dim_is_known(dims[i]) || update->dims[i] <= dims[i]
                       : hlo_dims_agree(update->dims[i], dims[i]);
    if (!fits) {
      return hlo_infer_error("dimension %u of the updates is %lld, %s%lld expected", i,
                             (long long)update->dims[i], window ? "at most " : "",
                             (long long)dims[i]);
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_infer_scatter(hlo_infer_t* infer) {
  const hlo_node_t* node = infer->node;
  uint32_t first, count, update_first;
  if (!hlo_node_operand_segment(node, 0, &first, &count) ||
      !hlo_node_operand_segment(node, 2, &update_first, &count) || count == 0) {
    return hlo_infer_error("has no operand");
  }
  const hlo_type_t *indices, *head;
  HLO_TRY(hlo_infer_tensor(infer, count, &indices));
  HLO_TRY(hlo_infer_tensor(infer, 0, &head));
  index_form_t f;
  HLO_TRY(check_index_form(node, head, indices, true, &f));
  HLO_TRY(hlo_infer_scalar_region(node->regions[0], 2 * count, count));
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_type_t *operand, *update;
    HLO_TRY(hlo_infer_tensor(infer, i, &operand));
    HLO_TRY(hlo_infer_tensor(infer, update_first + i, &update));
    if (operand->rank != head->rank) return hlo_infer_error("inputs differ in rank");
    for (uint32_t d = 0; d < head->rank; ++d) {
      if (!hlo_dims_agree(operand->dims[d], head->dims[d])) {
        return hlo_infer_error("inputs differ in shape");
      }
    }
    HLO_TRY(check_update(node, operand, indices, update, &f));
    const hlo_node_t* end = hlo_region_terminator(node->regions[0]);
    hlo_dtype_t dtype = hlo_node_operand_type(end, i)->dtype;
    HLO_TRY(hlo_infer_give(infer, operand->quant || operand->dtype == dtype
                                      ? operand
                                      : hlo_type_with_dtype(infer->module, operand, dtype)));
  }
  return hlo_ok();
}
