// SPDX-License-Identifier: Apache-2.0
// Vector IR that copies a convolution's input into scratch memory with zeros around and between its
// elements (see matmul.h).
#include "codegen/dot/matmul_impl.h"
#include "codegen/math/elementwise.h"
#include "codegen/math/math.h"

typedef struct padder {
  const hlo_matmul_t* m;
  const hlo_matmul_padding_t* padding;
  hlo_vir_builder_t* b;
  hlo_dtype_t from_dtype, dtype;  // of elements; an unsigned integer if they are not converted
  bool is_of_a;
  hlo_vir_value_t *from, *to;  // of a line
} padder_t;

// Returns the type in which elements are copied if they are not converted.
static hlo_dtype_t bits_of(hlo_dtype_t dtype) {
  switch (hlo_dtype_size_bytes(dtype)) {
    case 1: return HLO_DTYPE_U8;
    case 2: return HLO_DTYPE_U16;
    default: return dtype;
  }
}

static void store(const padder_t* p, hlo_vir_value_t* value, hlo_vir_value_t* at) {
  hlo_element_address_t target = {.base = p->to, .index = at};
  if (p->is_of_a) value = hlo_matmul_flip(p->m, p->b, value);
  hlo_elementwise_store(p->b, p->dtype, value, &target);
}

// Stores zeros to elements low <= at < end of the line, in vectors as long as they fit.
static void clear_elements(const padder_t* p, int64_t low, int64_t end) {
  hlo_vir_builder_t* b = p->b;
  int64_t lanes = p->m->lanes, whole = end > low ? low + (end - low) / lanes * lanes : low;
  for (int pass = 0; pass < 2; ++pass) {
    int64_t from = pass ? whole : low, to = pass ? end : whole;
    if (from >= to) continue;
    hlo_vir_type_t type = hlo_vmath_type(p->dtype, pass ? 1 : (uint32_t)lanes);
    hlo_vir_value_t* at =
        hlo_vir_begin_for(b, hlo_index(b, from), hlo_index(b, to), pass ? 1 : lanes, 0);
    store(p, hlo_vir_const_bits(b, type, 0), at);
    hlo_vir_end(b);
  }
}

static void copy(const padder_t* p, int64_t first, int64_t end, int64_t lanes, int64_t low,
                 int64_t dilation) {
  hlo_vir_builder_t* b = p->b;
  if (first >= end) return;
  hlo_vir_value_t* at = hlo_vir_begin_for(b, hlo_index(b, first), hlo_index(b, end), lanes, 0);
  hlo_element_address_t source = {.base = p->from, .index = at};
  hlo_vir_value_t* value = hlo_elementwise_load(b, p->from_dtype, (uint32_t)lanes, &source);
  hlo_vir_value_t* place = hlo_add(b, hlo_times(b, at, dilation), low);
  if (p->from_dtype != p->dtype) value = hlo_vmath_convert(b, p->from_dtype, p->dtype, value);
  store(p, value, place);
  hlo_vir_end(b);
}

// Copies the elements of a line: element i goes to low + i * dilation, if that is inside.
static void copy_line(const padder_t* p) {
  const hlo_matmul_padding_t* padding = p->padding;
  uint32_t last = padding->rank - 1;
  int64_t low = padding->low[last], dilation = padding->dilation[last], to = padding->to[last];
  int64_t first = low < 0 ? (-low + dilation - 1) / dilation : 0;
  int64_t end = padding->from[last];
  while (end > first && low + (end - 1) * dilation >= to) --end;
  if (dilation > 1) {
    clear_elements(p, 0, to);
    copy(p, first, end, 1, low, dilation);
    return;
  }
  int64_t lanes = p->m->lanes, whole = end > first ? first + (end - first) / lanes * lanes : first;
  clear_elements(p, 0, first < end ? first + low : to);
  copy(p, first, whole, lanes, low, 1);
  copy(p, whole, end, 1, low, 1);
  if (first < end) clear_elements(p, end + low, to);
}

// Finds the source of a line of the padded input. `ahead`: of the line that is paired with it.
// Returns a truth value: the line is from the input, not zeros; NULL: always.
static hlo_vir_value_t* find_line(const padder_t* p, hlo_vir_value_t* line, bool ahead,
                                  hlo_vir_value_t* source, hlo_vir_value_t** out_from) {
  const hlo_matmul_padding_t* padding = p->padding;
  hlo_vir_builder_t* b = p->b;
  hlo_vir_value_t *rest = line, *is_inside = NULL, *offset = hlo_index(b, 0);
  int64_t stride = padding->from[padding->rank - 1];
  for (uint32_t i = padding->rank - 1; i-- > 0;) {
    hlo_vir_value_t* at = hlo_remainder(b, rest, padding->to[i]);
    rest = hlo_divide(b, rest, padding->to[i]);
    int64_t step = ahead && i == padding->pair_dim ? padding->pair_step : 0;
    if (step || padding->low[i] || padding->dilation[i] != 1 ||
        padding->to[i] != padding->from[i]) {
      at = hlo_minus(b, at, hlo_index(b, padding->low[i] - step));
      int64_t extent = (padding->from[i] - 1) * padding->dilation[i] + 1;
      hlo_vir_value_t* low = hlo_vir_icmp(b, HLO_VIR_GE, at, hlo_index(b, 0));
      hlo_vir_value_t* high = hlo_vir_icmp(b, HLO_VIR_LT, at, hlo_index(b, extent));
      hlo_vir_value_t* inside = hlo_vir_index(b, HLO_VIR_iand, low, high);
      at = hlo_most(b, at, hlo_index(b, 0));
      if (padding->dilation[i] > 1) {
        hlo_vir_value_t* between = hlo_remainder(b, at, padding->dilation[i]);
        inside = hlo_vir_index(b, HLO_VIR_iand, inside,
                               hlo_vir_icmp(b, HLO_VIR_EQ, between, hlo_index(b, 0)));
        at = hlo_divide(b, at, padding->dilation[i]);
      }
      is_inside = is_inside ? hlo_vir_index(b, HLO_VIR_iand, is_inside, inside) : inside;
    }
    offset = hlo_plus(b, offset, hlo_times(b, at, stride));
    stride *= padding->from[i];
  }
  int64_t bytes = (int64_t)hlo_dtype_size_bytes(padding->from_dtype);
  *out_from = hlo_plus(b, source, hlo_times(b, offset, bytes));
  return is_inside;
}

// Writes one line of the padded input.
static void pad_line(padder_t* p, hlo_vir_value_t* line, hlo_vir_value_t* source) {
  hlo_vir_builder_t* b = p->b;
  hlo_vir_value_t* is_inside = find_line(p, line, false, source, &p->from);
  if (is_inside) hlo_vir_begin_if(b, is_inside);
  copy_line(p);
  if (!is_inside) return;
  hlo_vir_begin_else(b);
  clear_elements(p, 0, p->padding->to[p->padding->rank - 1]);
  hlo_vir_end(b);
}

// ---- pairs of elements of two lines

// Interleaves elements first <= at < end of two lines (NULL: zeros).
static void join_lines(const padder_t* p, hlo_vir_value_t* const* lines, int64_t first, int64_t end,
                       int64_t lanes) {
  hlo_vir_builder_t* b = p->b;
  if (first >= end) return;
  hlo_vir_value_t* at = hlo_vir_begin_for(b, hlo_index(b, first), hlo_index(b, end), lanes, 0);
  hlo_vir_value_t* parts[2];
  for (uint32_t i = 0; i < 2; ++i) {
    hlo_element_address_t source = {.base = lines[i], .index = at};
    parts[i] = lines[i] ? hlo_elementwise_load(b, HLO_DTYPE_U16, (uint32_t)lanes, &source)
                        : hlo_vir_const_bits(b, hlo_vmath_type(HLO_DTYPE_U16, (uint32_t)lanes), 0);
  }
  hlo_element_address_t target = {.base = p->to, .index = hlo_times(b, at, 2)};
  hlo_elementwise_store(b, HLO_DTYPE_U16, hlo_matmul_interleave(b, parts, 2), &target);
  hlo_vir_end(b);
}

static void pair_known(const padder_t* p, hlo_vir_value_t* const* lines) {
  int64_t count = p->padding->from[p->padding->rank - 1], lanes = p->m->lanes;
  int64_t whole = count / lanes * lanes;
  join_lines(p, lines, 0, whole, lanes);
  join_lines(p, lines, whole, count, 1);
}

// Writes a line of pairs of an element and the one `pair_step` later.
static void pair_lines(const padder_t* p, hlo_vir_value_t* line, hlo_vir_value_t* source) {
  hlo_vir_builder_t* b = p->b;
  hlo_vir_value_t* from[2];
  hlo_vir_value_t* inside[2] = {find_line(p, line, false, source, &from[0]),
                                find_line(p, line, true, source, &from[1])};
  if (!inside[0]) inside[0] = hlo_index(b, 1);
  hlo_vir_begin_if(b, inside[0]);
  for (uint32_t first = 0; first < 2; ++first) {
    if (first) hlo_vir_begin_else(b);
    hlo_vir_begin_if(b, inside[1]);
    pair_known(p, (hlo_vir_value_t*[]){first ? NULL : from[0], from[1]});
    hlo_vir_begin_else(b);
    pair_known(p, (hlo_vir_value_t*[]){first ? NULL : from[0], NULL});
    hlo_vir_end(b);
  }
  hlo_vir_end(b);
}

// Pads the lines of one chunk (NULL: all) of an operand.
static void pad_operand(const hlo_kernel_t* kernel, uint32_t side, hlo_vir_builder_t* b,
                        hlo_vir_value_t* const* addresses, hlo_vir_value_t* chunk) {
  const hlo_matmul_t* m = hlo_matmul_of(kernel);
  const hlo_matmul_padding_t* padding = &m->padding[side];
  const hlo_matmul_copy_t* copy = &m->copies[HLO_MATMUL_PAD][side];
  const hlo_fusion_t* fusion = kernel->fusion;
  hlo_vir_value_t* scratch = addresses[fusion->input_count + fusion->output_count];
  hlo_vir_value_t* copy_at = hlo_add(b, scratch, (int64_t)copy->offset_bytes);
  hlo_vir_value_t* line = hlo_matmul_begin_copy(copy, b, chunk);
  hlo_dtype_t dtype = m->operands[side].dtype;
  int64_t line_bytes = padding->to[padding->rank - 1] * (int64_t)hlo_dtype_size_bytes(dtype);
  padder_t p = {.m = m,
                .padding = padding,
                .b = b,
                .from_dtype = padding->from_dtype,
                .dtype = dtype,
                .is_of_a = side == HLO_MATMUL_A};
  if (p.from_dtype == dtype) p.from_dtype = p.dtype = bits_of(dtype);
  p.to = hlo_plus(b, copy_at, hlo_times(b, line, line_bytes));
  hlo_vir_value_t* source = addresses[m->operands[side].input];
  if (padding->pair_step) {
    pair_lines(&p, line, source);
  } else {
    pad_line(&p, line, source);
  }
  hlo_vir_end(b);
}

void hlo_matmul_emit_padding(const hlo_kernel_t* kernel, hlo_vir_builder_t* b,
                             hlo_vir_value_t* const* addresses, hlo_vir_value_t* chunk) {
  const hlo_matmul_copy_t* copies = hlo_matmul_of(kernel)->copies[HLO_MATMUL_PAD];
  if (!chunk || !copies[0].count || !copies[1].count) {
    for (uint32_t side = 0; side < 2; ++side) {
      if (copies[side].count) pad_operand(kernel, side, b, addresses, chunk);
    }
    return;
  }
  int64_t count = copies[0].chunk_count;
  hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_LT, chunk, hlo_index(b, count)));
  pad_operand(kernel, 0, b, addresses, chunk);
  hlo_vir_begin_else(b);
  pad_operand(kernel, 1, b, addresses, hlo_minus(b, chunk, hlo_index(b, count)));
  hlo_vir_end(b);
}
