// SPDX-License-Identifier: Apache-2.0
// Elementwise ops on tensors: finds the kernel by op and element type, checks the operands, and
// runs the kernel, in place where an operand is used for the last time and has the right size.
#include <assert.h>
#include <string.h>

#include "interp/kernels_impl.h"
#include "interp/quant.h"

// ---- the table --------------------------------------------------------------------------------

typedef enum result_kind { RESULT_SAME, RESULT_PRED, RESULT_PART, RESULT_COMPLEX } result_kind_t;

static const struct {
  uint8_t arity;
  uint8_t result;
} infos[HLO_KERNEL_COUNT] = {
#define HLO_KERNEL(id, arity, result) {arity, RESULT_##result},
#define HLO_KERNEL_PART(id, arity, result) {arity, RESULT_##result},
#include "interp/elementwise.def"
};

// The kernel's number plus one; 0: no kernel.
static const uint8_t kernels_of_ops[HLO_OP_COUNT] = {
#define HLO_KERNEL(id, arity, result) [HLO_OP_##id] = HLO_KERNEL_##id + 1,
#include "interp/elementwise.def"
};
static_assert(HLO_KERNEL_COUNT < 255, "kernel numbers fit a byte");

static const hlo_scalar_kernels_t* const tables[HLO_DTYPE_COUNT] = {
    [HLO_DTYPE_PRED] = hlo_kernels_PRED, [HLO_DTYPE_S2] = hlo_kernels_S2,
    [HLO_DTYPE_S4] = hlo_kernels_S4,     [HLO_DTYPE_S8] = hlo_kernels_S8,
    [HLO_DTYPE_S16] = hlo_kernels_S16,   [HLO_DTYPE_S32] = hlo_kernels_S32,
    [HLO_DTYPE_S64] = hlo_kernels_S64,   [HLO_DTYPE_U2] = hlo_kernels_U2,
    [HLO_DTYPE_U4] = hlo_kernels_U4,     [HLO_DTYPE_U8] = hlo_kernels_U8,
    [HLO_DTYPE_U16] = hlo_kernels_U16,   [HLO_DTYPE_U32] = hlo_kernels_U32,
    [HLO_DTYPE_U64] = hlo_kernels_U64,   [HLO_DTYPE_F32] = hlo_kernels_F32,
    [HLO_DTYPE_F64] = hlo_kernels_F64,   [HLO_DTYPE_C64] = hlo_kernels_C64,
    [HLO_DTYPE_C128] = hlo_kernels_C128,
};

static bool dtype_is_narrow(hlo_dtype_t dtype) {
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  return info->klass == HLO_DTYPE_CLASS_FLOAT && info->bits < 32;
}

// Returns the kernel that runs `id` on elements of `dtype`: for float types below 32 bits that of
// F32 (out_is_narrow); NULL if the type has no such op.
static const hlo_scalar_kernels_t* find_kernel(hlo_kernel_id_t id, hlo_dtype_t dtype,
                                               bool* out_is_narrow) {
  *out_is_narrow = dtype_is_narrow(dtype);
  const hlo_scalar_kernels_t* table = tables[*out_is_narrow ? HLO_DTYPE_F32 : dtype];
  if (table == NULL || id >= HLO_KERNEL_COUNT || table[id].loop == NULL) return NULL;
  if (*out_is_narrow && infos[id].result == RESULT_COMPLEX) return NULL;
  return &table[id];
}

hlo_kernel_id_t hlo_kernel_of_op(hlo_op_t op) {
  return op < HLO_OP_COUNT && kernels_of_ops[op] ? (hlo_kernel_id_t)(kernels_of_ops[op] - 1)
                                                 : HLO_KERNEL_COUNT;
}

static_assert(HLO_KERNEL_compare_ne - HLO_KERNEL_compare_eq == HLO_COMPARISON_DIRECTION_NE &&
                  HLO_KERNEL_compare_ge - HLO_KERNEL_compare_eq == HLO_COMPARISON_DIRECTION_GE &&
                  HLO_KERNEL_compare_gt - HLO_KERNEL_compare_eq == HLO_COMPARISON_DIRECTION_GT &&
                  HLO_KERNEL_compare_le - HLO_KERNEL_compare_eq == HLO_COMPARISON_DIRECTION_LE &&
                  HLO_KERNEL_compare_lt - HLO_KERNEL_compare_eq == HLO_COMPARISON_DIRECTION_LT,
              "kernels of comparisons follow the order of the enumeration");

static hlo_kernel_id_t compare_kernel(hlo_dtype_t dtype, int64_t direction, bool is_total_order) {
  if (direction < 0 || direction > HLO_COMPARISON_DIRECTION_LT) return HLO_KERNEL_COUNT;
  bool total = is_total_order && hlo_dtype_is_float(dtype);
  return (total ? HLO_KERNEL_total_eq : HLO_KERNEL_compare_eq) + (hlo_kernel_id_t)direction;
}

hlo_kernel_id_t hlo_kernel_of_compare(const hlo_node_t* node, hlo_dtype_t dtype) {
  const hlo_attr_t* direction = hlo_node_attr(node, HLO_ATTR_comparison_direction);
  const hlo_attr_t* type = hlo_node_attr(node, HLO_ATTR_compare_type);
  if (direction == NULL) return HLO_KERNEL_COUNT;
  return compare_kernel(dtype, direction->i,
                        type != NULL && type->i == HLO_COMPARISON_TYPE_TOTALORDER);
}

// Returns the element type of the result of `id`, or INVALID if the type has no such op.
static hlo_dtype_t result_of(hlo_kernel_id_t id, hlo_dtype_t dtype) {
  switch ((result_kind_t)infos[id].result) {
    case RESULT_PRED: return HLO_DTYPE_PRED;
    case RESULT_PART: return hlo_dtype_info(dtype)->part;
    case RESULT_COMPLEX: return hlo_dtype_complex_of(dtype);
    default: return dtype;
  }
}

// ---- running kernels --------------------------------------------------------------------------

enum { ARITY_MAX = 3, BLOCK = 256 };

// Converts a code of a float type of at most 16 bits to its distance from zero in units in the last
// place.
static int32_t place_of(uint16_t code, uint32_t sign) {
  const int32_t magnitude = (int32_t)(code & ~sign);
  return code & sign ? -magnitude : magnitude;
}

// next_after of a float type of at most 16 bits, computed on its codes.
static void narrow_next_after(hlo_dtype_t dtype, const void* const* in, void* out, int64_t count) {
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  const size_t width = hlo_dtype_size_bytes(dtype);
  const bool has_sign = info->specials != HLO_FLOAT_E8M0;
  const uint32_t sign = has_sign ? 1u << (info->bits - 1) : 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* from = (const uint8_t*)in[0] + (size_t)i * width;
    const uint8_t* toward = (const uint8_t*)in[1] + (size_t)i * width;
    double x = hlo_dtype_load_double(dtype, from), y = hlo_dtype_load_double(dtype, toward);
    uint16_t code = 0, goal = 0;
    memcpy(&code, from, width);
    memcpy(&goal, toward, width);
    const int32_t here = place_of(code, sign), there = place_of(goal, sign);
    if (x != x || y != y) {
      hlo_dtype_store_double(dtype, &code, x + y);
    } else if (here == there) {
      code = goal;
    } else if (here == 0 && has_sign) {
      code = (uint16_t)(1u | (goal & sign));
    } else {
      code = (uint16_t)((here < there) == (here > 0 || !has_sign) ? code + 1 : code - 1);
      if (info->specials == HLO_FLOAT_FNUZ && code == sign) code = 0;
    }
    memcpy((uint8_t*)out + (size_t)i * width, &code, width);
  }
}

static void run_narrow(hlo_kernel_id_t id, const hlo_scalar_kernels_t* kernel, hlo_dtype_t dtype,
                       const void* const* in, void* out, int64_t count) {
  if (id == HLO_KERNEL_chlo_next_after) {
    narrow_next_after(dtype, in, out, count);
    return;
  }
  const size_t width = hlo_dtype_size_bytes(dtype);
  const bool is_pred = infos[id].result == RESULT_PRED;
  float wide[ARITY_MAX][BLOCK], result[BLOCK];
  const void* wide_in[ARITY_MAX] = {wide[0], wide[1], wide[2]};
  for (int64_t start = 0; start < count; start += BLOCK) {
    size_t n = (size_t)(count - start < BLOCK ? count - start : BLOCK);
    for (uint32_t k = 0; k < infos[id].arity; ++k) {
      bool is_bound = id == HLO_KERNEL_clamp_bounds && k != 1;
      const uint8_t* from = (const uint8_t*)in[k] + (is_bound ? 0 : (size_t)start * width);
      hlo_dtype_convert(dtype, from, HLO_DTYPE_F32, wide[k], is_bound ? 1 : n);
    }
    if (is_pred) {
      kernel->loop(wide_in, (uint8_t*)out + start, n);
    } else {
      kernel->loop(wide_in, result, n);
      hlo_dtype_convert(HLO_DTYPE_F32, result, dtype, (uint8_t*)out + (size_t)start * width, n);
    }
  }
}

// Runs `id` on `count` elements at in[] of type `dtype` (found by find_kernel()). `out` may be
// one of the inputs.
static void run_kernel(hlo_kernel_id_t id, hlo_dtype_t dtype, const void* const* in, void* out,
                       int64_t count) {
  bool is_narrow;
  const hlo_scalar_kernels_t* kernel = find_kernel(id, dtype, &is_narrow);
  if (is_narrow) {
    run_narrow(id, kernel, dtype, in, out, count);
  } else {
    kernel->loop(in, out, (size_t)count);
  }
}

static hlo_status_t no_such_type(const hlo_node_t* node, hlo_dtype_t dtype) {
  return hlo_node_unimplemented(node, "not defined on elements of type %s",
                                hlo_dtype_info(dtype)->hlo_name);
}

// Creates the result of a node over `operands`: in the storage of one that is not used again, or
// fresh.
static hlo_status_t make_result(hlo_eval_t* eval, const hlo_node_t* node, uint32_t count,
                                hlo_tensor_t** operands, uint32_t shape_of,
                                hlo_tensor_t** out_tensor) {
  const hlo_type_t* type = node->results[0].type;
  if (!hlo_type_is_tensor(type)) return hlo_node_invalid(node, "the result must be a tensor");
  size_t width = hlo_dtype_size_bytes(type->dtype);
  uint32_t reuse = shape_of;
  for (uint32_t k = 0; k < count; ++k) {
    if (operands[k]->element_count == operands[shape_of]->element_count &&
        operands[k]->rank == operands[shape_of]->rank && hlo_tensor_is_unique(operands[k]) &&
        hlo_dtype_size_bytes(operands[k]->dtype) == width) {
      reuse = k;
      break;
    }
  }
  HLO_TRY(hlo_eval_result_reuse(eval, node, 0, operands, reuse, out_tensor));
  if ((*out_tensor)->element_count != operands[shape_of]->element_count) {
    hlo_tensor_release(*out_tensor);
    return hlo_node_invalid(node, "operands and result differ in their number of elements");
  }
  return hlo_ok();
}

static hlo_status_t check_operands(const hlo_node_t* node, uint32_t count,
                                   hlo_tensor_t* const* operands) {
  if (node->operand_count != count) {
    return hlo_node_invalid(node, "expected %u operands, found %u", count, node->operand_count);
  }
  for (uint32_t k = 0; k < count; ++k) {
    if (operands[k]->kind != HLO_TYPE_TENSOR) {
      return hlo_node_invalid(node, "operand %u must be a tensor", k);
    }
  }
  return hlo_ok();
}

static hlo_status_t check_same(const hlo_node_t* node, uint32_t first, uint32_t count,
                               hlo_tensor_t* const* operands) {
  for (uint32_t k = first + 1; k < count; ++k) {
    if (operands[k]->dtype != operands[first]->dtype ||
        operands[k]->element_count != operands[first]->element_count) {
      return hlo_node_invalid(node, "operands differ in shape or element type");
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_elementwise_run(hlo_eval_t* eval, const hlo_node_t* node, hlo_kernel_id_t id,
                                 hlo_tensor_t** operands, hlo_tensor_t** results) {
  if (id >= HLO_KERNEL_COUNT) {
    return hlo_node_invalid(node, "the op is not defined on this element type");
  }
  const uint32_t arity = infos[id].arity;
  HLO_TRY(check_operands(node, arity, operands));
  if (hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_function(node->op), operands, results);
  }
  if (arity > 1) HLO_TRY(check_same(node, 0, arity, operands));
  const hlo_dtype_t dtype = operands[0]->dtype;
  bool is_narrow;
  if (find_kernel(id, dtype, &is_narrow) == NULL) return no_such_type(node, dtype);
  if (node->results[0].type->dtype != result_of(id, dtype)) {
    return hlo_node_invalid(node, "the element type of the result must be %s",
                            hlo_dtype_info(result_of(id, dtype))->hlo_name);
  }
  const void* in[ARITY_MAX];
  for (uint32_t k = 0; k < arity; ++k) in[k] = operands[k]->data;
  hlo_tensor_t* result;
  HLO_TRY(make_result(eval, node, arity, operands, 0, &result));
  run_kernel(id, dtype, in, result->data, result->element_count);
  results[0] = result;
  return hlo_ok();
}

// ---- select, clamp ----------------------------------------------------------------------------

hlo_status_t hlo_select_run(HLO_REF_ARGUMENTS) {
  HLO_TRY(check_operands(node, 3, operands));
  if (hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_select_run, operands, results);
  }
  HLO_TRY(check_same(node, 1, 3, operands));
  const hlo_tensor_t* pred = operands[0];
  bool is_scalar = pred->element_count == 1 && operands[1]->element_count != 1;
  if (pred->dtype != HLO_DTYPE_PRED || operands[1]->dtype != node->results[0].type->dtype ||
      (!is_scalar && pred->element_count != operands[1]->element_count)) {
    return hlo_node_invalid(node,
                            "the predicate must be boolean, scalar or shaped like the values");
  }
  if (pred->element_count == 1) {
    results[0] = hlo_tensor_retain(operands[*(const uint8_t*)pred->data ? 1 : 2]);
    return hlo_ok();
  }
  const hlo_scalar_kernels_t* kernel = hlo_kernel_select(hlo_dtype_size_bytes(operands[1]->dtype));
  if (kernel == NULL) return no_such_type(node, operands[1]->dtype);
  const void* in[3] = {pred->data, operands[1]->data, operands[2]->data};
  hlo_tensor_t* result;
  HLO_TRY(make_result(eval, node, 3, operands, 1, &result));
  kernel->loop(in, result->data, (size_t)result->element_count);
  results[0] = result;
  return hlo_ok();
}

hlo_status_t hlo_ref_select(HLO_REF_ARGUMENTS) {
  return hlo_select_run(eval, node, operands, results);
}

static hlo_status_t clamp_run(hlo_eval_t* eval, const hlo_node_t* node, hlo_kernel_id_t id,
                              hlo_tensor_t* const* bounds, hlo_tensor_t** operands,
                              hlo_tensor_t** results) {
  hlo_dtype_t dtype = operands[1]->dtype;
  bool is_narrow;
  if (find_kernel(id, dtype, &is_narrow) == NULL) return no_such_type(node, dtype);
  if (node->results[0].type->dtype != dtype) {
    return hlo_node_invalid(node, "operand and result differ in their element type");
  }
  const void* in[3] = {bounds[0]->data, operands[1]->data, bounds[1]->data};
  hlo_tensor_t* result;
  HLO_TRY(make_result(eval, node, 1, &operands[1], 0, &result));
  run_kernel(id, dtype, in, result->data, result->element_count);
  results[0] = result;
  return hlo_ok();
}

hlo_status_t hlo_ref_clamp(HLO_REF_ARGUMENTS) {
  HLO_TRY(check_operands(node, 3, operands));
  if (hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_clamp, operands, results);
  }
  hlo_tensor_t* x = operands[1];
  uint32_t single = 0;
  for (uint32_t k = 0; k < 3; k += 2) {
    bool is_single = operands[k]->element_count == 1;
    single += is_single;
    if (operands[k]->dtype != x->dtype ||
        (!is_single && operands[k]->element_count != x->element_count)) {
      return hlo_node_invalid(node,
                              "bounds must be scalars or shaped like the operand, of its type");
    }
  }
  hlo_tensor_t* bounds[2] = {operands[0], operands[2]};
  if (single != 1) {
    hlo_kernel_id_t id = single ? HLO_KERNEL_clamp_bounds : HLO_KERNEL_clamp;
    return clamp_run(eval, node, id, bounds, operands, results);
  }
  uint32_t k = bounds[0]->element_count == 1 ? 0 : 1;
  hlo_tensor_t* expanded;
  const int64_t no_dims[1] = {0};
  hlo_tensor_t scalar = *bounds[k];
  scalar.rank = 0;
  HLO_TRY(hlo_tensor_expand(&scalar, x->rank, x->dims, no_dims, &expanded));
  bounds[k] = expanded;
  hlo_status_t status = clamp_run(eval, node, HLO_KERNEL_clamp, bounds, operands, results);
  hlo_tensor_release(expanded);
  return status;
}

hlo_status_t hlo_ref_compare(HLO_REF_ARGUMENTS) {
  HLO_TRY(check_operands(node, 2, operands));
  hlo_kernel_id_t id = hlo_kernel_of_compare(node, operands[0]->dtype);
  return hlo_elementwise_run(eval, node, id, operands, results);
}

// ---- every other op: the functions of eval.h, one per row of elementwise.def ------------------

#define HLO_KERNEL(id, arity, result)                                           \
  hlo_status_t hlo_ref_##id(HLO_REF_ARGUMENTS) {                                \
    return hlo_elementwise_run(eval, node, HLO_KERNEL_##id, operands, results); \
  }
#include "interp/elementwise.def"

// ---- single elements --------------------------------------------------------------------------

static const hlo_scalar_kernels_t* plain_kernel(hlo_op_t op, hlo_dtype_t dtype) {
  if (op == HLO_OP_select) return hlo_kernel_select(hlo_dtype_size_bytes(dtype));
  hlo_kernel_id_t id = op == HLO_OP_clamp ? HLO_KERNEL_clamp : hlo_kernel_of_op(op);
  bool is_narrow;
  const hlo_scalar_kernels_t* kernel = find_kernel(id, dtype, &is_narrow);
  return is_narrow ? NULL : kernel;
}

hlo_scalar_fn_t hlo_ref_scalar(hlo_op_t op, hlo_dtype_t dtype) {
  const hlo_scalar_kernels_t* kernel = plain_kernel(op, dtype);
  return kernel ? kernel->scalar : NULL;
}

hlo_loop_fn_t hlo_ref_loop(hlo_op_t op, hlo_dtype_t dtype) {
  const hlo_scalar_kernels_t* kernel = plain_kernel(op, dtype);
  return kernel ? kernel->loop : NULL;
}

hlo_scalar_fn_t hlo_ref_scalar_compare(hlo_dtype_t dtype, int64_t direction, bool is_total_order) {
  bool is_narrow;
  const hlo_scalar_kernels_t* kernel =
      find_kernel(compare_kernel(dtype, direction, is_total_order), dtype, &is_narrow);
  return is_narrow || kernel == NULL ? NULL : kernel->scalar;
}

static uint32_t scalar_arity(hlo_op_t op) {
  switch (op) {
    case HLO_OP_select:
    case HLO_OP_clamp: return 3;
    case HLO_OP_compare: return 2;
    case HLO_OP_convert: return 1;
    default: {
      hlo_kernel_id_t id = hlo_kernel_of_op(op);
      return id < HLO_KERNEL_COUNT ? infos[id].arity : 0;
    }
  }
}

static bool prepare_select(const hlo_scalar_op_t* op, hlo_scalar_step_t* step) {
  const hlo_scalar_kernels_t* kernel = hlo_kernel_select(hlo_dtype_size_bytes(step->from));
  if (kernel == NULL || op->operands[0] != HLO_DTYPE_PRED || op->operands[2] != step->from ||
      step->to != step->from) {
    return false;
  }
  step->is_select = true;
  step->fn = kernel->scalar;
  step->loop = kernel->loop;
  return true;
}

static bool prepare_kernel(const hlo_scalar_op_t* op, hlo_scalar_step_t* step) {
  for (uint32_t k = 1; k < op->arity; ++k) {
    if (op->operands[k] != step->from) return false;
  }
  hlo_kernel_id_t id = op->op == HLO_OP_clamp ? HLO_KERNEL_clamp
                       : op->op == HLO_OP_compare
                           ? compare_kernel(step->from, op->direction, op->is_total_order)
                           : hlo_kernel_of_op(op->op);
  const hlo_scalar_kernels_t* kernel = find_kernel(id, step->from, &step->is_narrow);
  if (kernel == NULL || id == HLO_KERNEL_chlo_next_after || step->to != result_of(id, step->from)) {
    return false;
  }
  step->fn = kernel->scalar;
  step->loop = kernel->loop;
  return true;
}

bool hlo_scalar_op_prepare(const hlo_scalar_op_t* op, hlo_scalar_step_t* out_step) {
  if (op->arity == 0 || op->arity != scalar_arity(op->op)) return false;
  hlo_scalar_step_t step = {
      .arity = (uint8_t)op->arity, .from = op->operands[op->op == HLO_OP_select], .to = op->result};
  bool is_prepared = op->op == HLO_OP_convert  ? true
                     : op->op == HLO_OP_select ? prepare_select(op, &step)
                                               : prepare_kernel(op, &step);
  if (is_prepared) *out_step = step;
  return is_prepared;
}

static bool is_plain_scalar_node(const hlo_node_t* node, uint32_t arity) {
  if (node->operand_count != arity || node->result_count != 1) return false;
  if (!hlo_type_is_tensor(node->results[0].type) || node->results[0].type->quant) return false;
  for (uint32_t k = 0; k < arity; ++k) {
    const hlo_type_t* type = hlo_node_operand_type(node, k);
    if (!hlo_type_is_tensor(type) || type->quant) return false;
  }
  return true;
}

bool hlo_scalar_step_prepare(const hlo_node_t* node, hlo_scalar_step_t* out_step) {
  uint32_t arity = scalar_arity(node->op);
  if (arity == 0 || !is_plain_scalar_node(node, arity)) return false;
  hlo_scalar_op_t op = {.op = node->op, .arity = arity, .result = node->results[0].type->dtype};
  for (uint32_t k = 0; k < arity; ++k) op.operands[k] = hlo_node_operand_type(node, k)->dtype;
  if (node->op == HLO_OP_compare) {
    const hlo_attr_t* direction = hlo_node_attr(node, HLO_ATTR_comparison_direction);
    const hlo_attr_t* type = hlo_node_attr(node, HLO_ATTR_compare_type);
    if (direction == NULL) return false;
    op.direction = direction->i;
    op.is_total_order = type != NULL && type->i == HLO_COMPARISON_TYPE_TOTALORDER;
  }
  return hlo_scalar_op_prepare(&op, out_step);
}

void hlo_scalar_step_run_indirect(const hlo_scalar_step_t* step, const void* const* args,
                                  void* result) {
  if (step->fn == NULL) {
    uint8_t element[16];  // the widest element, so that the result may be the argument
    hlo_dtype_convert(step->from, args[0], step->to, element, 1);
    memcpy(result, element, hlo_dtype_size_bytes(step->to));
    return;
  }
  float wide[ARITY_MAX], wide_result;
  const void* wide_args[ARITY_MAX] = {&wide[0], &wide[1], &wide[2]};
  for (uint32_t k = 0; k < step->arity; ++k) {
    hlo_dtype_convert(step->from, args[k], HLO_DTYPE_F32, &wide[k], 1);
  }
  if (step->to == HLO_DTYPE_PRED) {
    step->fn(wide_args, result);
  } else {
    step->fn(wide_args, &wide_result);
    hlo_dtype_convert(HLO_DTYPE_F32, &wide_result, step->to, result, 1);
  }
}

// Processes narrow floats blockwise through f32.
static void run_many_narrow(const hlo_scalar_step_t* step, const void* const* args, void* result,
                            size_t count) {
  const size_t from_width = hlo_dtype_size_bytes(step->from);
  const size_t to_width = hlo_dtype_size_bytes(step->to);
  float wide[ARITY_MAX][BLOCK], wide_result[BLOCK];
  const void* wide_args[ARITY_MAX] = {wide[0], wide[1], wide[2]};
  for (size_t start = 0; start < count; start += BLOCK) {
    const size_t n = count - start < BLOCK ? count - start : BLOCK;
    uint8_t* to = (uint8_t*)result + start * to_width;
    for (uint32_t k = 0; k < step->arity; ++k) {
      hlo_dtype_convert(step->from, (const uint8_t*)args[k] + start * from_width, HLO_DTYPE_F32,
                        wide[k], n);
    }
    if (step->to == HLO_DTYPE_PRED) {
      step->loop(wide_args, to, n);
    } else {
      step->loop(wide_args, wide_result, n);
      hlo_dtype_convert(HLO_DTYPE_F32, wide_result, step->to, to, n);
    }
  }
}

// Conversions cannot run in place where widths differ, so they go through a block of other memory.
static void convert_many(const hlo_scalar_step_t* step, const void* in, void* out, size_t count) {
  const size_t from_width = hlo_dtype_size_bytes(step->from);
  const size_t to_width = hlo_dtype_size_bytes(step->to);
  if (in != out || step->from == step->to) {
    hlo_dtype_convert(step->from, in, step->to, out, count);
    return;
  }
  _Alignas(16) uint8_t block[BLOCK * 16];
  size_t done = 0;
  while (done < count) {
    // A widening conversion runs from the end, so that it overwrites only elements already read.
    const size_t n = count - done < BLOCK ? count - done : BLOCK;
    const size_t start = to_width > from_width ? count - done - n : done;
    memcpy(block, (const uint8_t*)in + start * from_width, n * from_width);
    hlo_dtype_convert(step->from, block, step->to, (uint8_t*)out + start * to_width, n);
    done += n;
  }
}

void hlo_scalar_step_run_many(const hlo_scalar_step_t* step, const void* const* args, void* result,
                              size_t count) {
  if (step->fn == NULL) {
    convert_many(step, args[0], result, count);
  } else if (step->is_narrow) {
    run_many_narrow(step, args, result, count);
  } else {
    step->loop(args, result, count);
  }
}
