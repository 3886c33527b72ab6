// SPDX-License-Identifier: Apache-2.0
// Products of a few bf16 rows with columns of narrow codes: floats of 8, 6 or 4 bits, or integers
// of 8 (signed), 4 or 2, contiguous along the contraction and perhaps with a scale for each block
// of it. Memory limits such products, so nothing of B is packed: a register of codes indexes two
// tables, of the lower and of the upper bytes of bf16, and zipping these gives pairs for the dot
// product. A's lines are packed in the order that zipping leaves. A block's scale multiplies the
// sum of its products, which rounds less often than multiplying each element (docs/numerics.md).
// Where A is of codes with scales, too, integers.c may multiply both as integers.
#include <string.h>

#include "codegen/dot/matmul_impl.h"
#include "codegen/math/elementwise.h"
#include "codegen/math/math.h"

enum {
  CHUNK = HLO_MATMUL_CODES_CHUNK,
  PART = 16,   // bytes in which zips work: the codes that share four lanes of pairs, or a table of
               // all codes of four bits
  LANES = 16,  // of accumulators
  SIGN_BIT = 0x80,
  UNROLL = 4,  // chunks of an iteration without scales
  REGISTER_BYTES = 64,
};

// ---- recognition

static bool is_code(hlo_dtype_t dtype) {
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  if (hlo_dtype_is_integer(dtype)) return info->bits <= 4 || dtype == HLO_DTYPE_S8;
  return hlo_dtype_is_float(dtype) && info->bits <= 8 && dtype != HLO_DTYPE_F8E8M0FNU;
}

// Returns the operand of the value's op if it is `op`, else the value.
static const hlo_value_t* below(const hlo_value_t* value, hlo_op_t op) {
  return value->def && value->def->op == op ? hlo_node_operand(value->def, 0) : value;
}

// Returns what reshapes give another shape: the same elements in order.
static const hlo_value_t* before_reshapes(const hlo_value_t* value) {
  while (value->def && value->def->op == HLO_OP_reshape) value = hlo_node_operand(value->def, 0);
  return value;
}

// Returns what a conversion to a wider integer and back makes regular: elements narrower than a
// byte have arbitrary upper bits in a program's arguments, and tables are indexed by the lower
// ones.
static const hlo_value_t* before_masking(const hlo_value_t* codes) {
  const hlo_value_t* wide = below(codes, HLO_OP_convert);
  const hlo_value_t* narrow = below(wide, HLO_OP_convert);
  const bool is_round_trip = wide != codes && narrow != wide &&
                             narrow->type->dtype == codes->type->dtype &&
                             hlo_dtype_convert_is_lossless(codes->type->dtype, wide->type->dtype);
  return is_round_trip ? narrow : codes;
}

// Returns the scales that the value repeats for each of *out_block elements in order; NULL: it is
// no such value.
static const hlo_value_t* find_scales(const hlo_value_t* value, int64_t* out_block) {
  value = before_reshapes(value);
  if (!value->def || value->def->op != HLO_OP_broadcast_in_dim || !value->type->rank) return NULL;
  const hlo_value_t* scales = hlo_node_operand(value->def, 0);
  const hlo_type_t *repeated = value->type, *own = scales->type;
  const uint32_t last = repeated->rank - 1;
  uint32_t count;
  const int64_t* along = hlo_node_attr_ints(value->def, HLO_ATTR_broadcast_dimensions, &count);
  if (count < last || count != own->rank) return NULL;
  for (uint32_t d = 0; d < count; ++d) {
    if (along[d] != d || own->dims[d] != (d == last ? 1 : repeated->dims[d])) return NULL;
  }
  *out_block = repeated->dims[last];
  return scales;
}

// Returns the codes that the operand converts to bf16 and perhaps scales; NULL: it is computed
// otherwise. Scales repeat along the operand's last dimension.
static const hlo_value_t* find_codes(const hlo_value_t* value, hlo_matmul_codes_t* out_codes,
                                     const hlo_value_t** out_scales) {
  *out_codes = (hlo_matmul_codes_t){0};
  *out_scales = NULL;
  const hlo_type_t* type = value->type;
  value = before_reshapes(value);
  const hlo_value_t* inner = below(value, HLO_OP_convert);
  if (is_code(inner->type->dtype)) return inner == value ? NULL : inner;
  if (!inner->def || inner->def->op != HLO_OP_multiply) return NULL;
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_value_t* wide = before_reshapes(hlo_node_operand(inner->def, i));
    const hlo_value_t* codes = below(wide, HLO_OP_convert);
    if (codes == wide || !is_code(codes->type->dtype)) continue;
    *out_scales = find_scales(hlo_node_operand(inner->def, 1 - i), &out_codes->block);
    if (!*out_scales || type->dims[type->rank - 1] % out_codes->block) continue;
    out_codes->widened = (*out_scales)->type->dtype;
    return codes;
  }
  return NULL;
}

bool hlo_matmul_is_of_codes(const hlo_node_t* node, uint32_t side) {
  hlo_matmul_codes_t codes;
  const hlo_value_t *value = hlo_node_operand(node, side), *scales;
  const hlo_type_t* type = value->type;
  if (type->dtype != HLO_DTYPE_BF16 || !type->rank || !find_codes(value, &codes, &scales)) {
    return false;
  }
  return type->dims[type->rank - 1] >= HLO_TUNING_CODES_MIN_DEPTH &&
         hlo_type_element_count(type) >= HLO_TUNING_CODES_MIN_ELEMENTS;
}

// ---- selection

static int32_t number_of(const hlo_kernel_t* kernel, const hlo_value_t* value) {
  for (uint32_t i = 0; i < kernel->fusion->input_count; ++i) {
    if (kernel->fusion->inputs[i] == value) return (int32_t)i;
  }
  return -1;
}

// Returns the number of the input that holds the codes, perhaps in another shape; -1: none does.
static int32_t input_of_codes(const hlo_kernel_t* kernel, const hlo_value_t* codes) {
  for (const hlo_value_t* next;; codes = next) {
    const int32_t number = number_of(kernel, codes);
    if (number >= 0) return number;
    next = below(codes, HLO_OP_reshape);
    if (next == codes) next = before_masking(codes);
    if (next == codes) return -1;
  }
}

// The same of scales, which may be converted; finds their type in memory.
static int32_t input_of_scales(const hlo_kernel_t* kernel, const hlo_value_t* scales,
                               hlo_dtype_t* out_dtype) {
  bool is_converted = false;
  for (const hlo_value_t* next;; scales = next) {
    const int32_t number = number_of(kernel, scales);
    *out_dtype = scales->type->dtype;
    if (number >= 0) return number;
    next = below(scales, HLO_OP_reshape);
    if (next != scales) continue;
    if (!is_converted) next = below(scales, HLO_OP_convert);
    if (next == scales) return -1;
    is_converted = true;
  }
}

// Returns true if scales of blocks of this size are equal in all lanes of a part of a chunk.
static bool is_even(int64_t block) {
  return block % PART == 0 && (CHUNK % block == 0 || block % CHUNK == 0);
}

// Returns true if A is read or computed along the contraction, several elements at a time.
static bool has_rows(const hlo_matmul_t* m) {
  const hlo_matmul_operand_t* a = &m->operands[HLO_MATMUL_A];
  const hlo_matmul_dim_t* inner = &m->depth[0];
  if (hlo_matmul_is_produced(a)) return hlo_matmul_lanes_find(a, inner, HLO_MATMUL_A, LANES);
  return a->dtype == HLO_DTYPE_BF16 && inner->from[HLO_MATMUL_A] == 1;
}

static bool has_tables(const hlo_target_t* target) {
  return target->vector_bytes == REGISTER_BYTES && target->has_permute_pair;
}

// Finds the codes, and scales, among the kernel's inputs. Returns false if the operand is computed
// otherwise.
static bool find_inputs(const hlo_matmul_operand_t* operand, const hlo_kernel_t* kernel,
                        hlo_matmul_codes_t* out_codes) {
  const hlo_value_t *scales, *value = find_codes(operand->prologue.value, out_codes, &scales);
  if (!value || (scales && !is_even(out_codes->block))) return false;
  const int32_t input = input_of_codes(kernel, value);
  const int32_t scales_input = scales ? input_of_scales(kernel, scales, &out_codes->scale) : 0;
  if (input < 0 || scales_input < 0) return false;
  out_codes->dtype = value->type->dtype;
  out_codes->input = (uint32_t)input;
  out_codes->scales = (uint32_t)scales_input;
  return true;
}

// Returns true if A is of codes with scales, too, and integers of both can be multiplied
// (integers.c).
static bool find_integers(const hlo_matmul_t* m, const hlo_kernel_t* kernel,
                          const hlo_matmul_codes_t* b, hlo_matmul_codes_t* out_a) {
  const hlo_matmul_operand_t* a = &m->operands[HLO_MATMUL_A];
  const hlo_matmul_dim_t* inner = &m->depth[0];
  const bool is_inner = inner->place[HLO_MATMUL_A] == a->prologue.place_count;  // contiguous
  return m->target->has_dot_u8s8 && b->block && inner->extent % HLO_MATMUL_INTEGERS_SPAN == 0 &&
         m->rows.extent <= HLO_TUNING_INTEGERS_MAX_ROWS && hlo_matmul_is_produced(a) && is_inner &&
         a->dtype == HLO_DTYPE_BF16 && find_inputs(a, kernel, out_a) && out_a->block == b->block &&
         hlo_matmul_integer_factor(out_a->dtype) && hlo_matmul_integer_factor(b->dtype);
}

// Returns true if the rows are so few that codes are looked up where they are multiplied.
static bool has_few_rows(const hlo_matmul_t* m) {
  const double elements = (double)m->depth[0].extent * (double)m->columns.extent;
  const bool is_far = elements > HLO_TUNING_FAR_CACHES * (double)hlo_matmul_cache_bytes(m);
  return m->rows.extent <= (is_far ? HLO_TUNING_CODES_FAR_ROWS : HLO_TUNING_CODES_MAX_ROWS);
}

// Reads B's codes in place, if B has any.
static bool take_codes(hlo_matmul_t* m, const hlo_kernel_t* kernel) {
  hlo_matmul_operand_t* operand = &m->operands[HLO_MATMUL_B];
  hlo_matmul_dim_t* inner = &m->depth[0];
  const int64_t depth = inner->extent;
  const bool is_small = depth < HLO_TUNING_CODES_MIN_DEPTH ||
                        (double)depth * (double)m->columns.extent < HLO_TUNING_CODES_MIN_ELEMENTS;
  hlo_matmul_codes_t codes, codes_of_a;
  if (is_small || depth % CHUNK || inner->from[HLO_MATMUL_B] != 1 || m->columns.loop < 0 ||
      !hlo_matmul_is_produced(operand) || operand->prologue.widest_bytes > sizeof(float) ||
      !has_rows(m) || !find_inputs(operand, kernel, &codes)) {
    return false;
  }
  const bool has_integers = find_integers(m, kernel, &codes, &codes_of_a);
  if (!has_integers && !has_few_rows(m)) return false;
  if (has_integers) m->operands[HLO_MATMUL_A].codes = codes_of_a;
  operand->codes = codes;
  operand->input = operand->codes.input;
  operand->dtype = operand->codes.dtype;
  operand->first = 0;
  operand->prologue.origin = HLO_MATMUL_FROM_INPUT;
  for (uint32_t i = 0; i < m->outer_count; ++i) m->outer[i].place[HLO_MATMUL_B] = 0;
  m->rows.place[HLO_MATMUL_B] = m->columns.place[HLO_MATMUL_B] = inner->place[HLO_MATMUL_B] = 0;
  m->strategy = HLO_MATMUL_BY_CODES;
  return true;
}

bool hlo_matmul_choose_codes(hlo_matmul_t* m, const hlo_kernel_t* kernel) {
  const hlo_target_t* target = kernel->target;
  const bool is_configured = m->config && !hlo_kernel_config_is_empty(m->config);
  if (is_configured || m->is_convolution || m->depth_count != 1 || m->depth[0].wrap_at ||
      !has_tables(target) ||
      hlo_matmul_group_of(target, m->contraction.node, m->dtype, (double)m->depth[0].extent) !=
          HLO_MATMUL_CODES_GROUP) {
    return false;
  }
  if (take_codes(m, kernel)) return true;
  hlo_matmul_swap_roles(m);
  if (take_codes(m, kernel)) return true;
  hlo_matmul_swap_roles(m);
  return false;
}

void hlo_matmul_find_codes(hlo_matmul_t* m, const hlo_kernel_t* kernel) {
  const hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  const bool is_of_pairs = m->group == HLO_MATMUL_CODES_GROUP && m->dtype == HLO_DTYPE_F32;
  if (hlo_matmul_is_along(m) || !is_of_pairs || m->lanes != LANES || !has_tables(m->target)) return;
  for (uint32_t side = 0; side < 2; ++side) {
    hlo_matmul_operand_t* operand = &m->operands[side];
    hlo_matmul_codes_t codes;
    const bool is_inner = inner->place[side] == operand->prologue.place_count;  // contiguous
    const bool is_bf16 = operand->dtype == HLO_DTYPE_BF16;
    if (!hlo_matmul_is_produced(operand) || !is_inner || !is_bf16) continue;
    if (find_inputs(operand, kernel, &codes)) operand->codes = codes;
  }
}

hlo_matmul_accumulators_t hlo_matmul_codes_tile(const hlo_matmul_t* m) {
  const bool is_of_integers = hlo_matmul_has_integers(m);
  const int64_t rows = m->rows.extent;
  const int64_t most = is_of_integers ? HLO_TUNING_INTEGERS_TILE_ROWS : HLO_TUNING_CODES_TILE_ROWS;
  const int64_t height = hlo_divide_up(rows, hlo_divide_up(rows, most));
  const int64_t most_sums = HLO_TUNING_INTEGERS_SUMS / height;
  const int64_t width = is_of_integers ? hlo_matmul_max(hlo_matmul_min(most_sums, 4), 1)
                        : height <= 2  ? 4
                                       : 2;  // all accumulators, pairs and tables fit the registers
  return (hlo_matmul_accumulators_t){hlo_matmul_min(width, m->columns.extent), height};
}

// ---- vector IR

hlo_vir_value_t* hlo_matmul_constant(hlo_vir_builder_t* b, hlo_vir_type_t type,
                                     const uint8_t* bytes) {
  const uint32_t size = hlo_vir_elem_bits((hlo_vir_elem_t)type.elem) / 8 * type.lanes;
  const uint32_t blob = hlo_vir_module_add_blob(b->module, bytes, size);
  hlo_vir_value_t* address =
      hlo_vir_emit(b, HLO_VIR_rodata, hlo_vir_type(HLO_VIR_INDEX, 1), 0, blob, 0, NULL);
  return hlo_vir_emit(b, HLO_VIR_load, type, HLO_VIR_INVARIANT, 0, 1, &address);
}

static hlo_vir_type_t code_type(void) {
  return hlo_vir_type(HLO_VIR_I8, CHUNK);
}

uint8_t hlo_matmul_code(hlo_dtype_t dtype, uint32_t low) {
  const uint32_t bits = hlo_dtype_info(dtype)->bits;
  low &= (1u << bits) - 1;
  const bool is_negative = hlo_dtype_is_signed(dtype) && low >> (bits - 1);
  return (uint8_t)(is_negative ? low | ~0u << bits : low);
}

// Returns byte `which` of the bf16 of codes `first` and following, one for each lane; they repeat
// from `count` on.
static hlo_vir_value_t* table(hlo_vir_builder_t* b, hlo_dtype_t dtype, uint32_t which,
                              uint32_t first, uint32_t count) {
  uint8_t bytes[CHUNK];
  for (uint32_t i = 0; i < CHUNK; ++i) {
    const uint8_t code = hlo_matmul_code(dtype, first + i % count);
    uint16_t wide;
    hlo_dtype_convert(dtype, &code, HLO_DTYPE_BF16, &wide, 1);
    bytes[i] = (uint8_t)(wide >> 8 * which);
  }
  return hlo_matmul_constant(b, code_type(), bytes);
}

static hlo_vir_value_t* byte_const(hlo_vir_builder_t* b, uint64_t value) {
  return hlo_vir_const_bits(b, code_type(), value);
}

// Looks the bytes of up to 64 codes up.
static hlo_vir_value_t* look_up_short(hlo_vir_builder_t* b, hlo_dtype_t dtype, uint32_t which,
                                      hlo_vir_value_t* codes) {
  const uint32_t count = hlo_dtype_info(dtype)->bits <= 4 ? PART : CHUNK;
  hlo_vir_value_t* operands[] = {table(b, dtype, which, 0, count),
                                 hlo_vir_binary(b, HLO_VIR_and, codes, byte_const(b, count - 1))};
  return hlo_vir_emit(b, HLO_VIR_permute, code_type(), 0, count == PART ? PART : 0, 2, operands);
}

// Looks the bytes of floats or signed integers of 8 bits up by their magnitude. A sign bit alone is
// NaN in some types, or -128.
static hlo_vir_value_t* look_up_byte(hlo_vir_builder_t* b, hlo_dtype_t dtype, uint32_t which,
                                     hlo_vir_value_t* codes) {
  const bool is_integer = dtype == HLO_DTYPE_S8;
  hlo_vir_value_t* operands[] = {table(b, dtype, which, 0, CHUNK),
                                 table(b, dtype, which, CHUNK, CHUNK), codes};
  if (is_integer) {
    hlo_vir_value_t* negated = hlo_vir_binary(b, HLO_VIR_sub, byte_const(b, 0), codes);
    operands[2] = hlo_vir_binary(b, HLO_VIR_smax, codes, negated);
  }
  hlo_vir_value_t* bytes = hlo_vir_emit(b, HLO_VIR_permute_pair, code_type(), 0, 0, 3, operands);
  if (which) {
    hlo_vir_value_t* sign = hlo_vir_binary(b, HLO_VIR_and, codes, byte_const(b, SIGN_BIT));
    bytes = hlo_vir_binary(b, HLO_VIR_or, bytes, sign);
  }
  const bool is_nan_or_least = hlo_dtype_info(dtype)->specials == HLO_FLOAT_FNUZ || is_integer;
  if (!is_nan_or_least || (is_integer && !which)) return bytes;  // of -128, as of 0: 0
  const uint8_t code = SIGN_BIT;
  uint16_t wide;
  hlo_dtype_convert(dtype, &code, HLO_DTYPE_BF16, &wide, 1);
  hlo_vir_value_t* is_sign =
      hlo_vir_compare(b, HLO_VIR_scmp, HLO_VIR_EQ, codes, byte_const(b, SIGN_BIT));
  return hlo_vir_ternary(b, HLO_VIR_select, is_sign, byte_const(b, wide >> 8 * which & 0xff),
                         bytes);
}

void hlo_matmul_decode(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* codes,
                       hlo_vir_value_t* out_pairs[2]) {
  hlo_vir_value_t* bytes[2];
  for (uint32_t i = 0; i < 2; ++i) {
    bytes[i] = hlo_dtype_info(dtype)->bits < 8 ? look_up_short(b, dtype, i, codes)
                                               : look_up_byte(b, dtype, i, codes);
  }
  for (uint32_t i = 0; i < 2; ++i) {
    hlo_vir_value_t* zipped =
        hlo_vir_emit(b, i ? HLO_VIR_zip_high : HLO_VIR_zip_low, code_type(), 0, PART, 2, bytes);
    out_pairs[i] =
        hlo_vir_emit(b, HLO_VIR_recast, hlo_vir_type(HLO_VIR_F32, LANES), 0, 0, 1, &zipped);
  }
}

/// Chunks that are emitted together.
typedef struct span {
  hlo_vir_value_t* at;  // the first element along the contraction
  uint32_t chunks;
  hlo_vir_value_t* scales[HLO_MATMUL_MAX_PIECES];  // of a column: of up to LANES blocks
} span_t;

static const hlo_matmul_codes_t* codes_of(const hlo_product_t* p) {
  return &p->m->operands[HLO_MATMUL_B].codes;
}

hlo_vir_value_t* hlo_matmul_widen_scales(hlo_vir_builder_t* b, const hlo_matmul_codes_t* codes,
                                         hlo_vir_value_t* scales) {
  scales = hlo_vmath_convert(b, codes->scale, codes->widened, scales);
  return hlo_vmath_convert(b, codes->widened, HLO_DTYPE_F32, scales);
}

// Returns the address of the column's first scale. Scales lie as the codes do, but for a block.
static hlo_vir_value_t* scales_of(const hlo_product_t* p, const hlo_product_tile_t* tile,
                                  uint32_t column) {
  hlo_vir_builder_t* b = p->b;
  const int64_t bytes = (int64_t)hlo_dtype_size_bytes(codes_of(p)->scale);
  hlo_vir_value_t* from = hlo_minus(b, tile->b, p->bases[HLO_MATMUL_B]);
  from = hlo_add(b, from, column * p->m->columns.strides[HLO_MATMUL_B]);
  return hlo_plus(b, p->scales, hlo_times(b, hlo_divide(b, from, codes_of(p)->block), bytes));
}

static hlo_vir_value_t* load_scales(const hlo_product_t* p, const hlo_product_tile_t* tile,
                                    uint32_t column, hlo_vir_value_t* at, uint32_t lanes,
                                    uint32_t active) {
  const hlo_matmul_codes_t* codes = codes_of(p);
  const hlo_element_address_t address = {.base = scales_of(p, tile, column),
                                         .index = hlo_divide(p->b, at, codes->block),
                                         .mask = hlo_matmul_first_lanes(p->b, lanes, active)};
  hlo_vir_value_t* value = hlo_elementwise_load(p->b, codes->scale, lanes, &address);
  return hlo_matmul_widen_scales(p->b, codes, value);
}

// Returns the scale of each lane's pairs in chunk `number` of a span.
static hlo_vir_value_t* spread_scales(const hlo_product_t* p, const hlo_product_tile_t* tile,
                                      const span_t* span, uint32_t column, uint32_t number) {
  hlo_vir_builder_t* b = p->b;
  const int64_t block = codes_of(p)->block, first = (int64_t)number * CHUNK;
  if (block >= CHUNK) {
    hlo_vir_value_t* scale = load_scales(p, tile, column, hlo_add(b, span->at, first), 1, 1);
    return hlo_vir_emit(b, HLO_VIR_splat, hlo_vir_type(HLO_VIR_F32, LANES), 0, 0, 1, &scale);
  }
  uint8_t order[LANES];
  for (uint32_t i = 0; i < LANES; ++i) {
    order[i] = (uint8_t)((first + i / (LANES * PART / CHUNK) * PART) / block);
  }
  return hlo_matmul_permute(b, span->scales[column], order);
}

static hlo_vir_value_t* load_pairs(const hlo_product_t* p, const hlo_product_tile_t* tile,
                                   const span_t* span, int64_t row, uint32_t number) {
  const int64_t bytes = p->m->element_bytes;
  hlo_vir_value_t* base = hlo_plus(p->b, tile->a, hlo_times(p->b, span->at, bytes / 2));
  hlo_vir_value_t* operands[] = {base};
  return hlo_vir_emit(p->b, HLO_VIR_load, hlo_vir_type(HLO_VIR_F32, LANES), 0,
                      (row * p->m->rows.strides[HLO_MATMUL_A] + number * LANES) * bytes, 1,
                      operands);
}

static void add_chunk(const hlo_product_t* p, const hlo_product_tile_t* tile, const span_t* span,
                      uint32_t number) {
  hlo_vir_builder_t* b = p->b;
  const hlo_matmul_t* m = p->m;
  const uint32_t columns = tile->panel->piece_count;
  hlo_vir_value_t *pairs[HLO_MATMUL_MAX_PIECES][2], *scales[HLO_MATMUL_MAX_PIECES] = {NULL};
  for (uint32_t c = 0; c < columns; ++c) {
    hlo_vir_value_t* operands[] = {tile->b, span->at};
    hlo_vir_value_t* codes =
        hlo_vir_emit(b, HLO_VIR_load, code_type(), 0,
                     c * m->columns.strides[HLO_MATMUL_B] + (int64_t)number * CHUNK, 2, operands);
    hlo_product_fetch(
        p, tile->b, span->at, 1,
        m->panel_stride + c * m->columns.strides[HLO_MATMUL_B] + (int64_t)number * CHUNK);
    hlo_matmul_decode(b, p->dtypes[HLO_MATMUL_B], codes, pairs[c]);
    if (codes_of(p)->block) scales[c] = spread_scales(p, tile, span, c, number);
  }
  hlo_vir_value_t* zero = hlo_vir_const_bits(b, hlo_vir_type(HLO_VIR_F32, LANES), 0);
  for (int64_t r = 0; r < tile->height; ++r) {
    hlo_vir_value_t* row[] = {load_pairs(p, tile, span, r, 2 * number),
                              load_pairs(p, tile, span, r, 2 * number + 1)};
    for (uint32_t c = 0; c < columns; ++c) {
      hlo_vir_value_t* sum = tile->accumulators[r * columns + c];
      hlo_vir_value_t* products = codes_of(p)->block ? zero : sum;
      for (uint32_t i = 0; i < 2; ++i) {
        products = hlo_vir_ternary(b, HLO_VIR_dot_bf16, pairs[c][i], row[i], products);
      }
      if (scales[c]) products = hlo_vir_ternary(b, HLO_VIR_fma, products, scales[c], sum);
      hlo_vir_set(b, sum, products);
    }
  }
}

static void add_span(const hlo_product_t* p, const hlo_product_tile_t* tile, hlo_vir_value_t* at,
                     int64_t elements) {
  span_t span = {.at = at, .chunks = (uint32_t)(elements / CHUNK)};
  const int64_t block = codes_of(p)->block;
  for (uint32_t c = 0; block && block < CHUNK && c < tile->panel->piece_count; ++c) {
    span.scales[c] = load_scales(p, tile, c, at, LANES, (uint32_t)(elements / block));
  }
  for (uint32_t i = 0; i < span.chunks; ++i) add_chunk(p, tile, &span, i);
}

void hlo_product_add_codes(hlo_product_t* p, hlo_product_tile_t* tile, hlo_vir_value_t* is_first) {
  (void)is_first;  // nothing is packed by tiles
  if (hlo_matmul_has_integers(p->m)) {
    hlo_product_add_integers(p, tile);
    hlo_product_fold_accumulators(p, tile);
    return;
  }
  hlo_vir_builder_t* b = p->b;
  const int64_t depth = p->m->depth[0].extent * p->m->group, block = codes_of(p)->block;
  const int64_t step = block && block < CHUNK ? LANES * block : UNROLL * CHUNK;
  const int64_t whole = depth / step * step;
  if (whole) {
    add_span(p, tile, hlo_vir_begin_for(b, hlo_index(b, 0), hlo_index(b, whole), step, 0), step);
    hlo_vir_end(b);
  }
  if (whole < depth) add_span(p, tile, hlo_index(b, whole), depth - whole);
  hlo_product_fold_accumulators(p, tile);
}
