// SPDX-License-Identifier: Apache-2.0
// Windows of any size as slices in a loop over their positions, and select_and_scatter of any
// bodies as such a loop and a scatter (see expand.h).
#include "ir/clone.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/expand_impl.h"
#include "passes/loop.h"
#include "passes/splice.h"

typedef hlo_expand_windows_t windows_t;

bool hlo_expand_read_windows(const hlo_node_t* node, windows_t* w) {
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  w->rank = type->rank;
  bool is_valid = hlo_status_take_ok(hlo_window_dims_of(node, w->rank, type->dims, w->dims));
  w->positions = w->padded = 1;
  for (uint32_t d = 0; d < w->rank && is_valid; ++d) {
    const hlo_window_dim_t* dim = &w->dims[d];
    const int64_t padded = (dim->in_size - 1) * dim->base_dilation + 1 + dim->low + dim->high;
    is_valid = dim->in_size > 0 && dim->out_size > 0 &&
               !__builtin_mul_overflow(w->positions, dim->size, &w->positions);
    if (__builtin_mul_overflow(w->padded, padded, &w->padded)) w->padded = INT64_MAX;
  }
  w->number =
      hlo_loop_number(node->parent->module, w->positions > w->padded ? w->positions : w->padded);
  return is_valid && w->number;
}

void hlo_expand_split_number(hlo_node_t* at, hlo_value_t* number, uint32_t rank,
                             const int64_t* dims, hlo_value_t** indices) {
  for (uint32_t d = rank; d-- > 0 && number;) {
    hlo_value_t* size = hlo_build_integers(at, number->type, &dims[d]);
    indices[d] = d ? hlo_build_binary(at, HLO_OP_remainder, number, size) : number;
    if (d) number = hlo_build_binary(at, HLO_OP_divide, number, size);
  }
}

hlo_value_t* hlo_expand_times(hlo_node_t* at, hlo_value_t* x, int64_t factor) {
  if (!x || factor == 1) return x;
  return hlo_build_multiply(at, x, hlo_build_integers(at, x->type, &factor));
}

hlo_value_t* hlo_expand_window_elements(const windows_t* w, hlo_node_t* at, hlo_value_t* number,
                                        hlo_value_t* padded) {
  hlo_module_t* module = at->parent->module;
  hlo_value_t* starts[HLO_RANK_MAX];
  int64_t window[HLO_RANK_MAX], sizes[HLO_RANK_MAX], outs[HLO_RANK_MAX];
  int64_t zeros[HLO_RANK_MAX] = {0}, strides[HLO_RANK_MAX];
  if (!padded || !number) return NULL;
  for (uint32_t d = 0; d < w->rank; ++d) {
    window[d] = w->dims[d].size;
    outs[d] = w->dims[d].out_size;
    strides[d] = w->dims[d].stride;
    sizes[d] = (outs[d] - 1) * strides[d] + 1;
  }
  hlo_expand_split_number(at, number, w->rank, window, starts);
  for (uint32_t d = 0; d < w->rank; ++d) {
    starts[d] = hlo_expand_times(at, starts[d], w->dims[d].window_dilation);
  }
  hlo_value_t* all = hlo_build_dynamic_slice(
      at, hlo_type_with_dims(module, padded->type, w->rank, sizes), padded, starts);
  return hlo_build_slice(at, hlo_type_with_dims(module, padded->type, w->rank, outs), all, zeros,
                         strides);
}

hlo_value_t* hlo_expand_pad(const windows_t* w, hlo_node_t* at, hlo_value_t* value,
                            hlo_value_t* element) {
  int64_t low[HLO_RANK_MAX], high[HLO_RANK_MAX], between[HLO_RANK_MAX];
  for (uint32_t d = 0; d < w->rank; ++d) {
    low[d] = w->dims[d].low;
    high[d] = w->dims[d].high;
    between[d] = w->dims[d].base_dilation - 1;
  }
  return hlo_build_pad(at, value, element, low, high, between);
}

// ---- select_and_scatter -------------------------------------------------------------------------

/// The state of a selection: the selected elements and their positions in the operand.
typedef struct selection {
  hlo_value_t *kept, *place;
} selection_t;

// Selects between the elements that the windows keep and those at the next position; place is
// negative for padding and where nothing is selected yet.
static bool select_elements(hlo_pass_ctx_t* ctx, hlo_node_t* at, const hlo_region_t* body,
                            selection_t old, selection_t other, hlo_value_t** next) {
  hlo_value_t *args[] = {old.kept, other.kept}, *stays = NULL;
  if (!old.place || !other.place || !hlo_expand_apply(ctx, at, body, args, &stays)) return false;
  hlo_value_t* zero = hlo_build_splat(at, old.place->type, 0);
  hlo_value_t* has_old = hlo_build_compare(at, HLO_COMPARISON_DIRECTION_GE, old.place, zero);
  hlo_value_t* is_out = hlo_build_compare(at, HLO_COMPARISON_DIRECTION_LT, other.place, zero);
  stays = hlo_build_binary(at, HLO_OP_or, is_out, hlo_build_binary(at, HLO_OP_and, has_old, stays));
  next[0] = hlo_build_select(at, stays, old.kept, other.kept);
  next[1] = hlo_build_select(at, stays, old.place, other.place);
  return next[0] && next[1];
}

// Returns the place in the operand of each window's selected element, or -1.
static hlo_value_t* select_places(const windows_t* w, hlo_pass_ctx_t* ctx, hlo_node_t* node) {
  hlo_module_t* module = node->parent->module;
  hlo_value_t* operand = hlo_node_operand(node, 0);
  const hlo_type_t* source = hlo_node_operand_type(node, 1);
  const int64_t count = hlo_type_element_count(operand->type);
  const hlo_type_t* number = w->number;
  const hlo_dtype_t dtype = number->dtype;
  hlo_value_t* places =
      hlo_build_reshape(node, hlo_type_with_dtype(module, operand->type, dtype),
                        hlo_build_iota(node, hlo_type_tensor(module, dtype, 1, &count), 0));
  hlo_value_t* none = hlo_build_integers(node, number, (int64_t[]){-1});
  places = hlo_expand_pad(w, node, places, none);
  const hlo_type_t* scalar = hlo_type_tensor(module, operand->type->dtype, 0, NULL);
  hlo_value_t* padded =
      hlo_expand_pad(w, node, operand, scalar ? hlo_build_splat(node, scalar, 0) : NULL);
  const hlo_type_t* kept = hlo_type_with_dtype(module, source, operand->type->dtype);
  hlo_value_t *next[2], *results[2];
  next[0] = kept ? hlo_build_splat(node, kept, 0) : NULL;
  next[1] = hlo_build_broadcast(node, hlo_type_with_dtype(module, source, dtype), none, NULL);
  hlo_loop_t loop;
  if (!hlo_loop_begin(node, number, w->positions, 2, next, &loop)) return NULL;
  const selection_t old = {loop.values[0], loop.values[1]};
  const selection_t other = {hlo_expand_window_elements(w, loop.end, loop.number, padded),
                             hlo_expand_window_elements(w, loop.end, loop.number, places)};
  const bool is_built = select_elements(ctx, loop.end, node->regions[0], old, other, next) &&
                        hlo_loop_finish(&loop, next, results);
  return is_built ? results[1] : NULL;
}

// Builds the scatter of single elements of a list; its body has its arguments exchanged.
static hlo_value_t* scatter_elements(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t* list,
                                     hlo_value_t* places, hlo_value_t* updates) {
  hlo_module_t* module = node->parent->module;
  const hlo_region_t* body = node->regions[1];
  const hlo_named_attr_t attrs[] = {
      {HLO_ATTR_update_window_dims, hlo_attr_ints(module, 0, NULL)},
      {HLO_ATTR_inserted_window_dims, hlo_attr_ints(module, 1, (int64_t[]){0})},
      {HLO_ATTR_scatter_dims_to_operand_dims, hlo_attr_ints(module, 1, (int64_t[]){0})},
      {HLO_ATTR_index_vector_dim, hlo_attr_int(module, HLO_DTYPE_S64, 1)},
  };
  hlo_value_t* operands[] = {list, places, updates};
  if (!list || !places || !updates) return NULL;
  const hlo_node_spec_t spec = {.op = HLO_OP_scatter,
                                .loc = node->loc,
                                .operand_count = 3,
                                .operands = operands,
                                .attr_count = sizeof attrs / sizeof *attrs,
                                .attrs = attrs,
                                .region_count = 1,
                                .result_count = 1,
                                .result_types = &list->type};
  hlo_node_t* scatter = hlo_node_create(module, &spec);
  if (hlo_node_is_poison(scatter)) return NULL;
  hlo_node_insert_before(node, scatter);
  hlo_value_t* args[] = {hlo_region_add_arg(scatter->regions[0], body->args[1]->type),
                         hlo_region_add_arg(scatter->regions[0], body->args[0]->type)};
  const hlo_node_spec_t end_spec = {
      .op = HLO_OP_return, .loc = node->loc, .operand_count = 1, .operands = args};
  hlo_node_t* end = args[0] && args[1] ? hlo_node_create(module, &end_spec) : NULL;
  if (!end || hlo_node_is_poison(end)) return NULL;
  hlo_region_append(scatter->regions[0], end);
  hlo_splicer_t splicer = {.arena = &ctx->scratch};
  hlo_value_t* swapped[] = {args[1], args[0]};
  if (!hlo_status_take_ok(hlo_splice(&splicer, body, swapped, end, NULL, NULL))) return NULL;
  hlo_node_set_operand(end, 0, hlo_splice_result(&splicer, body, 0));
  return &scatter->results[0];
}

// The selection of every window, then a scatter of the sources to what was selected.
bool hlo_expand_select_and_scatter(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results) {
  enum { PADDED_MAX = 1 << 28 };
  windows_t w = {0};
  const hlo_type_t *type = hlo_node_operand_type(node, 0), *source = hlo_node_operand_type(node, 1),
                   *init = hlo_node_operand_type(node, 2), *result = node->results[0].type;
  hlo_module_t* module = node->parent->module;
  if (!hlo_type_is_plain(type) || !hlo_type_is_plain(source) || !hlo_type_is_plain(result) ||
      init->rank != 0 || init->dtype != result->dtype || source->rank != type->rank ||
      hlo_type_element_count(source) == 0 || !hlo_expand_read_windows(node, &w) ||
      w.padded > PADDED_MAX || !hlo_expand_can_apply(node->regions[0], 2, 1) ||
      !hlo_expand_can_apply(node->regions[1], 2, 1) ||
      node->regions[0]->args[0]->type->dtype != type->dtype ||
      node->regions[1]->args[0]->type->dtype != source->dtype ||
      node->regions[1]->args[1]->type->dtype != result->dtype) {
    return false;
  }
  for (uint32_t d = 0; d < w.rank; ++d) {
    if (w.dims[d].out_size != source->dims[d]) return false;
  }
  const int64_t count = hlo_type_element_count(result), windows = hlo_type_element_count(source);
  hlo_value_t* places = select_places(&w, ctx, node);
  if (!places) return false;
  places = hlo_build_reshape(
      node, hlo_type_tensor(module, places->type->dtype, 2, (int64_t[]){windows, 1}), places);
  hlo_value_t* updates = hlo_build_reshape(
      node, hlo_type_tensor(module, source->dtype, 1, &windows), hlo_node_operand(node, 1));
  hlo_value_t* list = hlo_build_broadcast(node, hlo_type_tensor(module, result->dtype, 1, &count),
                                          hlo_node_operand(node, 2), NULL);
  results[0] = hlo_build_reshape(node, result, scatter_elements(ctx, node, list, places, updates));
  return results[0] != NULL;
}
