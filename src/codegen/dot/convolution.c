// SPDX-License-Identifier: Apache-2.0
// Convolutions as matrix products. Every position of the output and of the window is a loop that
// moves through the input by a constant, so the register tiles of products compute a convolution in
// place. Where loops cannot skip positions outside the input, the input is copied with zeros around
// it.
#include <string.h>

#include "base/tuning.h"
#include "codegen/dot/matmul.h"
#include "codegen/math/elementwise.h"
#include "ir/dot_algorithm.h"

enum {
  MAX_SPACE = 8,
  FAR = INT32_MAX,
  NEAR = 1 << 28,
};

typedef struct convolution {
  const hlo_node_t* node;
  const hlo_type_t *lhs, *rhs, *out;
  uint32_t space;
  uint32_t lhs_batch, lhs_feature, rhs_in, rhs_out, out_batch, out_feature;
  uint32_t lhs_space[MAX_SPACE], rhs_space[MAX_SPACE], out_space[MAX_SPACE];
  int64_t strides[MAX_SPACE], low[MAX_SPACE], high[MAX_SPACE];
  int64_t lhs_dilation[MAX_SPACE], rhs_dilation[MAX_SPACE];
  bool is_reversed[MAX_SPACE];
  int64_t feature_groups, batch_groups, groups;
  hlo_dtype_t dtype;   // of products and accumulators
  int64_t group;       // input features that one lane multiplies
  int64_t pair_space;  // window dimension whose neighbours share a lane instead of features; -1:
                       // no
  bool is_flipped;     // the signs of bytes are flipped then
  bool is_product;     // a plain matrix product, which converts and groups its operands
  bool is_in_tiles;    // tile registers may multiply it: loops skip nothing, the input is padded
} convolution_t;

static uint32_t dim_number(const hlo_node_t* node, hlo_attr_id_t id) {
  return (uint32_t)hlo_node_attr_int(node, id, 0);
}

static bool has_code(const hlo_type_t* type) {
  return type->kind == HLO_TYPE_TENSOR && !type->quant && type->dtype != HLO_DTYPE_PRED &&
         hlo_elementwise_supports_dtype(type->dtype) && hlo_dtype_info(type->dtype)->bits >= 8 &&
         hlo_type_element_count(type) > 0;
}

static void read_space(convolution_t* c, uint32_t s) {
  const hlo_node_t* node = c->node;
  c->lhs_space[s] = (uint32_t)hlo_node_attr_item(node, HLO_ATTR_input_spatial_dimensions, s, 0);
  c->rhs_space[s] = (uint32_t)hlo_node_attr_item(node, HLO_ATTR_kernel_spatial_dimensions, s, 0);
  c->out_space[s] = (uint32_t)hlo_node_attr_item(node, HLO_ATTR_output_spatial_dimensions, s, 0);
  c->strides[s] = hlo_node_attr_item(node, HLO_ATTR_window_strides, s, 1);
  c->low[s] = hlo_node_attr_item(node, HLO_ATTR_padding, 2 * s, 0);
  c->high[s] = hlo_node_attr_item(node, HLO_ATTR_padding, 2 * s + 1, 0);
  c->lhs_dilation[s] = hlo_node_attr_item(node, HLO_ATTR_lhs_dilation, s, 1);
  c->rhs_dilation[s] = hlo_node_attr_item(node, HLO_ATTR_rhs_dilation, s, 1);
  c->is_reversed[s] = hlo_node_attr_item(node, HLO_ATTR_window_reversal, s, 0) != 0;
}

// Returns true if positions can be counted without a check for overflow.
static bool is_near(const convolution_t* c, uint32_t s) {
  const int64_t values[] = {c->low[s], c->high[s], c->strides[s], c->lhs_dilation[s],
                            c->rhs_dilation[s]};
  for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
    if (values[i] < -NEAR || values[i] > NEAR) return false;
  }
  return true;
}

static bool read_convolution(const hlo_node_t* node, convolution_t* c) {
  if (node->op != HLO_OP_convolution) return false;
  *c = (convolution_t){.node = node,
                       .lhs = hlo_node_operand_type(node, 0),
                       .rhs = hlo_node_operand_type(node, 1),
                       .out = node->results[0].type};
  if (!has_code(c->lhs) || !has_code(c->rhs) || !has_code(c->out)) return false;
  c->space = c->lhs->rank - 2;
  if (c->space > MAX_SPACE) return false;
  c->lhs_batch = dim_number(node, HLO_ATTR_input_batch_dimension);
  c->lhs_feature = dim_number(node, HLO_ATTR_input_feature_dimension);
  c->rhs_in = dim_number(node, HLO_ATTR_kernel_input_feature_dimension);
  c->rhs_out = dim_number(node, HLO_ATTR_kernel_output_feature_dimension);
  c->out_batch = dim_number(node, HLO_ATTR_output_batch_dimension);
  c->out_feature = dim_number(node, HLO_ATTR_output_feature_dimension);
  for (uint32_t s = 0; s < c->space; ++s) {
    read_space(c, s);
    if (!is_near(c, s)) return false;
  }
  c->feature_groups = hlo_node_attr_int(node, HLO_ATTR_feature_group_count, 1);
  c->batch_groups = hlo_node_attr_int(node, HLO_ATTR_batch_group_count, 1);
  c->groups = c->feature_groups * c->batch_groups;
  c->dtype = hlo_dot_compute_dtype(c->lhs->dtype, c->rhs->dtype, c->out->dtype);
  c->group = 1;
  c->pair_space = -1;
  return hlo_elementwise_supports_dtype(c->dtype);
}

// ---- padding

// Returns true if the innermost output loop, along which lanes run, is over the dimension.
static bool is_last(const convolution_t* c, uint32_t dim) {
  for (uint32_t i = dim + 1; i < c->out->rank; ++i) {
    if (c->out->dims[i] > 1) return false;
  }
  return c->out->dims[dim] > 1;
}

// Returns true if the zeros of a dilated input are not multiplied: output positions with the same
// remainder of the dilation use the same window positions, one in each dilation. This requires that
// all remainders have the same number of positions and that lanes run along other dimensions.
static bool is_by_phase(const convolution_t* c, uint32_t s) {
  return c->lhs_dilation[s] > 1 && !is_last(c, c->out_space[s]) && c->strides[s] == 1 &&
         c->rhs_dilation[s] == 1 && c->out->dims[c->out_space[s]] % c->lhs_dilation[s] == 0;
}

// Returns the window positions of each phase, including those past the end of the window.
static int64_t phase_taps(const convolution_t* c, uint32_t s) {
  int64_t taps = c->rhs->dims[c->rhs_space[s]];
  return (taps + c->lhs_dilation[s] - 1) / c->lhs_dilation[s];
}

// Returns true if some phases have fewer positions than others, perhaps zero. Loops then skip them.
static bool is_uneven(const convolution_t* c, uint32_t s) {
  return c->rhs->dims[c->rhs_space[s]] % c->lhs_dilation[s] != 0;
}

static int64_t phase_of_low(const convolution_t* c, uint32_t s) {
  return c->low[s] - hlo_floor_div(c->low[s], c->lhs_dilation[s]) * c->lhs_dilation[s];
}

// Returns the dimension of the input that groups divide.
static uint32_t group_dim(const convolution_t* c) {
  return c->feature_groups > 1 ? c->lhs_feature : c->lhs_batch;
}

// Returns the output features per group of a depthwise convolution if lanes run over all of them,
// else 0.
static int64_t channel_repeat(const convolution_t* c) {
  if (c->groups == 1 || !is_last(c, c->out_feature)) return 0;
  int64_t count = c->out->dims[c->out_feature] / c->groups;
  if (count > 1 && c->rhs->dims[c->rhs_in] > 1) return 0;
  return count <= HLO_TUNING_DEPTHWISE_MAX_REPEAT && (count & (count - 1)) == 0 ? count : 0;
}

// Returns true if neighbours in lanes are neighbours in the input.
static bool has_channels_last(const convolution_t* c) {
  uint32_t dim = group_dim(c);
  return dim + 1 == c->lhs->rank && c->lhs->dims[dim] == c->groups;
}

// Returns true if the input's elements are converted at their use rather than copied before.
static bool is_converted_late(const convolution_t* c) {
  if (c->is_product) return true;
  if (c->pair_space >= 0) return false;
  if (c->group > 1) return !c->is_flipped && c->rhs->dims[c->rhs_in] % c->group == 0;
  return c->lhs->dtype == c->dtype || (channel_repeat(c) && has_channels_last(c));
}

// Returns the innermost window dimension if the input's batch is inside of all contracted
// dimensions, as in the gradient of weights, else -1.
static int64_t find_pair_space(const convolution_t* c) {
  int64_t found = -1;
  for (uint32_t s = 0; s < c->space; ++s) {
    if (found < 0 || c->lhs_space[s] > c->lhs_space[found]) found = s;
  }
  if (found < 0 || c->lhs_batch + 1 != c->lhs->rank || c->lhs_feature > c->lhs_space[found] ||
      c->lhs_dilation[found] != 1 || c->rhs->dims[c->rhs_space[found]] % 2 != 0) {
    return -1;
  }
  return found;
}

// Puts several features into a lane if they are neighbours, or else two neighbours of a window.
// Weights are packed if the output has many positions.
static void choose_group(convolution_t* c, const hlo_target_t* target) {
  int64_t features = c->rhs->dims[c->rhs_in], outputs = c->out->dims[c->out_feature];
  if (!is_last(c, c->out_feature) || channel_repeat(c) ||
      hlo_type_element_count(c->out) < HLO_TUNING_CONV_MIN_POSITIONS * outputs) {
    return;
  }
  double depth = (double)hlo_type_element_count(c->rhs) / (double)outputs;
  int64_t group = hlo_matmul_group_of(target, c->node, c->dtype, depth);
  if (c->lhs_feature + 1 != c->lhs->rank) {
    c->pair_space = group == 2 ? find_pair_space(c) : -1;
    if (c->pair_space >= 0) c->group = group;
    return;
  }
  bool is_padded = features % group != 0;
  if (features < HLO_TUNING_CONV_MIN_GROUPS * group || (is_padded && c->feature_groups > 1)) return;
  c->group = group;
  int64_t step = hlo_matmul_tile_depth(target, c->node, c->dtype, depth);
  c->is_in_tiles = group > 1 && step && features % step == 0;
  c->is_flipped =
      group > 1 && !c->is_in_tiles && c->dtype != HLO_DTYPE_F32 && c->lhs->dtype == c->rhs->dtype;
}

// Returns true if the rows of a tile are output positions of that dimension.
static bool has_rows_of(const convolution_t* c, uint32_t s) {
  uint32_t dim = c->out_feature;
  while (dim > 0 && c->out->dims[dim - 1] == 1) --dim;
  return dim > 0 && dim - 1 == c->out_space[s];
}

// Returns the number of output positions before (or after) all others whose window is partly
// outside the input.
static int64_t edge_count(const convolution_t* c, uint32_t s, bool is_after) {
  int64_t count = c->out->dims[c->out_space[s]], found = 0;
  int64_t reach = (c->rhs->dims[c->rhs_space[s]] - 1) * c->rhs_dilation[s];
  int64_t from = is_after ? c->high[s] : c->low[s];
  if (is_after) {
    int64_t covered = (count - 1) * c->strides[s] + reach + 1;
    from = covered - c->low[s] - c->lhs->dims[c->lhs_space[s]];
  }
  if (from > 0) found = (from + c->strides[s] - 1) / c->strides[s];
  return found < count ? found : count;
}

// Returns true if the output positions along a dimension and all dimensions inside it are one loop
// where nothing is skipped, since they are fewer than the rows of a tile. Gradients of weights of a
// few features are such.
static bool runs_on(const convolution_t* c, uint32_t s) {
  int64_t batch = c->out->dims[c->out_batch];
  return c->out_space[s] + 1 == c->out_batch && batch < HLO_TUNING_CONV_FEW_ROWS &&
         c->strides[s] * hlo_contraction_stride(c->lhs->rank, c->lhs->dims, c->lhs_space[s]) ==
             batch * hlo_contraction_stride(c->lhs->rank, c->lhs->dims, c->lhs_batch);
}

// Returns true if loops skip the positions outside the input, which is then read in place. Else the
// input is copied with zeros around it.
static bool is_limited(const convolution_t* c, uint32_t s) {
  int64_t before = edge_count(c, s, false), after = edge_count(c, s, true);
  if (c->lhs_dilation[s] != 1 || c->is_in_tiles || !is_last(c, c->out_feature) ||
      !(before || after) || c->rhs->dims[c->rhs_space[s]] == 1 ||
      c->out->dims[c->out_space[s]] == 1) {
    return false;
  }
  if (!is_converted_late(c) || runs_on(c, s)) return false;
  return !has_rows_of(c, s) ||
         (before <= HLO_TUNING_CONV_MAX_EDGE_ROWS && after <= HLO_TUNING_CONV_MAX_EDGE_ROWS);
}

// Returns true if the convolution is a plain matrix product: each input element meets at most one
// window position, and all window positions are inside the input.
static bool is_product(const convolution_t* c) {
  for (uint32_t s = 0; s < c->space; ++s) {
    bool is_single = c->rhs->dims[c->rhs_space[s]] == 1 || c->out->dims[c->out_space[s]] == 1;
    if (!is_single || c->lhs_dilation[s] != 1 || edge_count(c, s, false) ||
        edge_count(c, s, true)) {
      return false;
    }
  }
  return !channel_repeat(c);
}

static void start_padding(const hlo_type_t* type, hlo_matmul_padding_t* out) {
  *out = (hlo_matmul_padding_t){.rank = type->rank, .from_dtype = type->dtype};
  for (uint32_t i = 0; i < type->rank; ++i) {
    out->from[i] = out->to[i] = type->dims[i];
    out->dilation[i] = 1;
  }
}

// Computes the extents of the operands with zeros around and between their elements. Negative
// padding removes elements.
static void pad_operands(const convolution_t* c, hlo_matmul_padding_t* lhs,
                         hlo_matmul_padding_t* rhs) {
  start_padding(c->lhs, lhs);
  start_padding(c->rhs, rhs);
  lhs->is_used = !is_converted_late(c);
  if (c->pair_space >= 0) {
    lhs->pair_dim = c->lhs_space[c->pair_space];
    lhs->pair_step = c->rhs_dilation[c->pair_space];
  } else {
    lhs->to[c->lhs_feature] = (lhs->to[c->lhs_feature] + c->group - 1) / c->group * c->group;
  }
  for (uint32_t s = 0; s < c->space; ++s) {
    uint32_t i = c->lhs_space[s], k = c->rhs_space[s];
    int64_t dilation = c->lhs_dilation[s];
    if (is_by_phase(c, s)) {
      bool wraps = phase_of_low(c, s) + 1 < dilation;
      lhs->low[i] = hlo_floor_div(c->low[s], dilation);
      lhs->to[i] = c->out->dims[c->out_space[s]] / dilation + phase_taps(c, s) - 1 + wraps;
      rhs->to[k] = phase_taps(c, s) * dilation;
      if (c->is_reversed[s]) rhs->low[k] = rhs->to[k] - rhs->from[k];
    } else if (!is_limited(c, s) &&
               (edge_count(c, s, false) || edge_count(c, s, true) || dilation > 1)) {
      lhs->low[i] = c->low[s];
      lhs->dilation[i] = dilation;
      lhs->to[i] = (c->lhs->dims[i] - 1) * dilation + 1 + c->low[s] + c->high[s];
    }
    lhs->is_used |= lhs->low[i] || lhs->dilation[i] != 1 || lhs->to[i] != lhs->from[i];
    rhs->is_used |= rhs->to[k] != rhs->from[k];
  }
}

// ---- loops

typedef struct strides {
  int64_t lhs[HLO_CONTRACTION_MAX_RANK], rhs[HLO_CONTRACTION_MAX_RANK];  // by dimension
} strides_t;

// Returns the stride of a window position in the kernel.
static int64_t tap_stride(const convolution_t* c, const strides_t* strides, uint32_t s) {
  int64_t stride = strides->rhs[c->rhs_space[s]];
  return c->is_reversed[s] ? -stride : stride;
}

// Splits output positions into quotient and remainder by the dilation. The remainder determines the
// first window position, and if it meets the next element of the input.
static void add_phases(const convolution_t* c, const strides_t* strides, uint32_t s,
                       hlo_matmul_loops_t* list) {
  int64_t dilation = c->lhs_dilation[s], tap = tap_stride(c, strides, s);
  int64_t step = strides->lhs[c->lhs_space[s]];
  hlo_matmul_add_loop(
      list, 0,
      (hlo_matmul_dim_t){.extent = c->out->dims[c->out_space[s]] / dilation, .from = {step, 0}});
  hlo_matmul_add_loop(list, 0,
                      (hlo_matmul_dim_t){.extent = dilation,
                                         .from = {0, -tap},
                                         .window = is_uneven(c, s) ? s + 1 : 0,
                                         .wrap_at = phase_of_low(c, s) + 1,
                                         .wrap = {step, dilation * tap}});
}

static void add_output_dim(const convolution_t* c, const strides_t* strides, uint32_t dim,
                           hlo_matmul_loops_t* list) {
  int64_t extent = c->out->dims[dim];
  if (dim == c->out_batch) {
    hlo_matmul_add_loop(
        list, 0, (hlo_matmul_dim_t){.extent = extent, .from = {strides->lhs[c->lhs_batch], 0}});
    return;
  }
  if (dim == c->out_feature) {
    int64_t size = extent / c->groups, stride = strides->rhs[c->rhs_out];
    int64_t group = c->lhs->dims[group_dim(c)] / c->groups * strides->lhs[group_dim(c)];
    if (channel_repeat(c)) {
      hlo_matmul_add_loop(list, 0, (hlo_matmul_dim_t){.extent = extent, .from = {group, stride}});
      return;
    }
    hlo_matmul_add_loop(list, 0,
                        (hlo_matmul_dim_t){.extent = c->groups, .from = {group, size * stride}});
    hlo_matmul_add_loop(list, 0, (hlo_matmul_dim_t){.extent = size, .from = {0, stride}});
    return;
  }
  for (uint32_t s = 0; s < c->space; ++s) {
    if (c->out_space[s] != dim) continue;
    if (is_by_phase(c, s)) {
      add_phases(c, strides, s, list);
      return;
    }
    int64_t stride = c->strides[s] * strides->lhs[c->lhs_space[s]];
    hlo_matmul_add_loop(
        list, 0,
        (hlo_matmul_dim_t){
            .extent = extent, .from = {stride, 0}, .window = is_limited(c, s) ? s + 1 : 0});
  }
}

// Returns the distance of a loop's steps in the input. A loop of one step, which may be skipped,
// counts as the farthest.
static int64_t way_of(const hlo_matmul_dim_t* dim) {
  return dim->extent == 1 ? INT64_MAX : dim->from[0];
}

// Adds the loops over the window and the input features, the largest input strides outermost.
static void add_depth(const convolution_t* c, const strides_t* strides, hlo_matmul_loops_t* list,
                      int64_t* first_of_rhs) {
  hlo_matmul_dim_t dims[MAX_SPACE + 1];
  uint32_t count = 0;
  for (uint32_t s = 0; s < c->space; ++s) {
    bool has_phases = is_by_phase(c, s);
    int64_t taps = c->rhs->dims[c->rhs_space[s]], tap = tap_stride(c, strides, s);
    int64_t extent = has_phases ? phase_taps(c, s) : taps;
    int64_t dilation = has_phases ? c->lhs_dilation[s] : 1, spread = c->rhs_dilation[s];
    if (tap < 0) *first_of_rhs -= (extent * dilation - 1) * tap;
    if (has_phases) *first_of_rhs += phase_of_low(c, s) * tap;
    hlo_matmul_dim_t* dim = &dims[count++];
    *dim = (hlo_matmul_dim_t){.extent = extent,
                              .from = {spread * strides->lhs[c->lhs_space[s]], dilation * tap}};
    if (!(has_phases ? is_uneven(c, s) : is_limited(c, s))) continue;
    dim->window = s + 1;
    dim->limit = has_phases ? (hlo_matmul_limit_t){.is_used = true,
                                                   .first = phase_of_low(c, s),
                                                   .stride = -1,
                                                   .spread = dilation,
                                                   .extent = taps,
                                                   .wrap_at = phase_of_low(c, s) + 1,
                                                   .wrap = dilation}
                            : (hlo_matmul_limit_t){.is_used = true,
                                                   .first = -c->low[s],
                                                   .stride = c->strides[s],
                                                   .spread = spread,
                                                   .extent = c->lhs->dims[c->lhs_space[s]]};
  }
  dims[count++] =
      (hlo_matmul_dim_t){.extent = c->rhs->dims[c->rhs_in],
                         .from = {strides->lhs[c->lhs_feature], strides->rhs[c->rhs_in]}};
  for (uint32_t n = count; n-- > 0;) {
    uint32_t largest = 0;
    for (uint32_t i = 1; i <= n; ++i) {
      if (way_of(&dims[i]) > way_of(&dims[largest])) largest = i;
    }
    hlo_matmul_add_loop(list, 0, dims[largest]);
    memmove(&dims[largest], &dims[largest + 1], (n - largest) * sizeof *dims);
  }
}

// Assigns the last output loop of the operand that it moves (for depthwise convolutions, of both
// operands) to lanes. Rows are the innermost loop that moves only the other operand.
static bool assign_loops(hlo_matmul_t* m, hlo_matmul_loops_t* output) {
  if (!output->count) return false;
  const hlo_matmul_dim_t* last = &output->dims[output->count - 1];
  m->strategy = last->from[0] == 0   ? HLO_MATMUL_BY_COLUMN
                : last->from[1] == 0 ? HLO_MATMUL_BY_POSITION
                                     : HLO_MATMUL_BY_CHANNEL;
  const bool is_swapped = m->strategy == HLO_MATMUL_BY_POSITION;
  int32_t rows = -1;
  for (uint32_t i = 0; i < output->count; ++i) {
    hlo_matmul_dim_t* dim = &output->dims[i];
    dim->loop = (int32_t)i;
    if (is_swapped) hlo_matmul_swap_operands(dim);
    bool is_row = i + 1 < output->count && !dim->wrap_at && dim->from[HLO_MATMUL_A] &&
                  !dim->from[HLO_MATMUL_B];
    if (is_row) rows = (int32_t)i;
  }
  m->columns = *last;
  m->rows = rows < 0 ? (hlo_matmul_dim_t){.extent = 1, .loop = -1} : output->dims[rows];
  for (uint32_t i = 0; i + 1 < output->count; ++i) {
    if ((int32_t)i != rows) m->outer[m->outer_count++] = output->dims[i];
  }
  return true;
}

// Connects limits to their loops of the output.
static void connect_limits(hlo_matmul_t* m, const hlo_matmul_loops_t* output) {
  for (uint32_t i = 0; i < m->depth_count; ++i) {
    hlo_matmul_limit_t* limit = &m->depth[i].limit;
    for (uint32_t k = 0; k < output->count && limit->is_used; ++k) {
      if (output->dims[k].window == m->depth[i].window) limit->loop = (int32_t)k;
    }
  }
}

// Returns the element from which the input's loops start. It may be before the first element.
static int64_t first_of_lhs(const convolution_t* c, const hlo_matmul_padding_t* padding,
                            const strides_t* strides) {
  int64_t first = 0;
  for (uint32_t s = 0; s < c->space; ++s) {
    uint32_t dim = c->lhs_space[s];
    bool is_copied = padding->low[dim] || padding->dilation[dim] != 1 || is_by_phase(c, s);
    if (!is_copied) first -= c->low[s] * strides->lhs[dim];
  }
  return first;
}

static bool make_loops(const convolution_t* c, hlo_matmul_t* m, hlo_matmul_loops_t* output) {
  hlo_matmul_padding_t lhs_padding, rhs_padding;
  pad_operands(c, &lhs_padding, &rhs_padding);
  strides_t strides;
  for (uint32_t i = 0; i < c->lhs->rank; ++i) {
    strides.lhs[i] = hlo_contraction_stride(c->lhs->rank, lhs_padding.to, i);
    strides.rhs[i] = hlo_contraction_stride(c->lhs->rank, rhs_padding.to, i);
  }
  hlo_matmul_loops_t depth = {0};
  *output = (hlo_matmul_loops_t){0};
  int64_t first_of_rhs = 0;
  for (uint32_t i = 0; i < c->out->rank; ++i) add_output_dim(c, &strides, i, output);
  add_depth(c, &strides, &depth, &first_of_rhs);
  if (output->count > HLO_MATMUL_MAX_LOOPS || depth.count > HLO_MATMUL_MAX_LOOPS ||
      !assign_loops(m, output)) {
    return false;
  }
  const bool is_swapped = m->strategy == HLO_MATMUL_BY_POSITION;
  m->depth_count = depth.count;
  for (uint32_t i = 0; i < depth.count; ++i) {
    m->depth[i] = depth.dims[i];
    if (is_swapped) hlo_matmul_swap_operands(&m->depth[i]);
  }
  if (channel_repeat(c)) m->repeat = channel_repeat(c);
  if (m->strategy == HLO_MATMUL_BY_CHANNEL &&
      m->columns.from[HLO_MATMUL_A] > FAR / HLO_VIR_MAX_LANES)
    return false;
  connect_limits(m, output);
  uint32_t lhs = is_swapped ? HLO_MATMUL_B : HLO_MATMUL_A, rhs = 1 - lhs;
  m->padding[lhs] = lhs_padding;
  m->padding[rhs] = rhs_padding;
  m->operands[lhs] = (hlo_matmul_operand_t){
      .node_operand = 0,
      .dtype = lhs_padding.pair_step || (lhs_padding.is_used && c->group == 1) ? c->dtype
                                                                               : c->lhs->dtype,
      .first = first_of_lhs(c, &lhs_padding, &strides)};
  m->operands[rhs] = (hlo_matmul_operand_t){
      .node_operand = 1,
      .dtype = rhs_padding.is_used && c->group == 1 ? c->dtype : c->rhs->dtype,
      .first = first_of_rhs};
  return true;
}

bool hlo_convolution_supports(const hlo_node_t* node) {
  if (node->op != HLO_OP_convolution)
    return false;  // asked for every op, so the detailed checks come last
  convolution_t c;
  hlo_matmul_t m = {0};
  hlo_matmul_loops_t output;
  return read_convolution(node, &c) && make_loops(&c, &m, &output);
}

hlo_verdict_t hlo_convolution_make_loops(hlo_matmul_t* m, hlo_tiled_space_t* space) {
  convolution_t c;
  hlo_matmul_loops_t output;
  bool is_known = read_convolution(m->contraction.node, &c);
  if (is_known) c.is_product = is_product(&c);
  if (is_known && !c.is_product) choose_group(&c, m->target);
  if (!is_known || !make_loops(&c, m, &output)) {
    return hlo_verdict_no(HLO_REASON_MATMUL_CONVOLUTION, m->contraction.node);
  }
  m->contraction.dtype = c.dtype;
  m->group = (uint32_t)c.group;
  m->is_convolution = !c.is_product;
  if (c.is_product) m->strategy = HLO_MATMUL_BY_COLUMN;
  space->loop_count = output.count;
  space->element_count = hlo_type_element_count(c.out);
  for (uint32_t i = 0; i < output.count; ++i) space->extents[i] = output.dims[i].extent;
  return hlo_verdict_yes();
}
