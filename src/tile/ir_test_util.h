// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of Tile IR: a kernel from text, the meaning of a few operations, a machine.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/type.h"
#include "tile/ir.h"

// ---- the meaning of a few operations on f32 and s32

static inline bool hlo_test_map_floats(hlo_op_t op, const float* a, const float* b, float* result,
                                       size_t count) {
  for (size_t i = 0; i < count; ++i) {
    switch (op) {
      case HLO_OP_add: result[i] = a[i] + b[i]; break;
      case HLO_OP_subtract: result[i] = a[i] - b[i]; break;
      case HLO_OP_multiply: result[i] = a[i] * b[i]; break;
      case HLO_OP_maximum: result[i] = a[i] > b[i] ? a[i] : b[i]; break;
      case HLO_OP_negate: result[i] = -a[i]; break;
      default: return false;
    }
  }
  return true;
}

static inline bool hlo_test_map_numbers(hlo_op_t op, const int32_t* a, const int32_t* b,
                                        int32_t* result, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    switch (op) {
      case HLO_OP_add: result[i] = a[i] + b[i]; break;
      case HLO_OP_multiply: result[i] = a[i] * b[i]; break;
      case HLO_OP_maximum: result[i] = a[i] > b[i] ? a[i] : b[i]; break;
      case HLO_OP_minimum: result[i] = a[i] < b[i] ? a[i] : b[i]; break;
      default: return false;
    }
  }
  return true;
}

static inline bool hlo_test_map(void* context, const hlo_tile_map_t* what, uint32_t operand_count,
                                const hlo_dtype_t* dtypes, const void* const* operands,
                                hlo_dtype_t dtype, void* result, size_t count) {
  (void)context;
  const void* second = operand_count > 1 ? operands[1] : NULL;
  if (what->op == HLO_OP_compare && dtypes[0] == HLO_DTYPE_F32) {
    const float *a = operands[0], *b = second;
    for (size_t i = 0; i < count; ++i) ((uint8_t*)result)[i] = a[i] < b[i];
    return what->direction == HLO_COMPARISON_DIRECTION_LT;
  }
  if (what->op == HLO_OP_compare && dtypes[0] == HLO_DTYPE_S32) {
    const int32_t *a = operands[0], *b = second;
    bool is_equality = what->direction == HLO_COMPARISON_DIRECTION_EQ;
    for (size_t i = 0; i < count; ++i) {
      ((uint8_t*)result)[i] = is_equality ? a[i] == b[i] : a[i] < b[i];
    }
    return is_equality || what->direction == HLO_COMPARISON_DIRECTION_LT;
  }
  if (dtype == HLO_DTYPE_PRED && what->op == HLO_OP_maximum) {
    const uint8_t *a = operands[0], *b = second;
    for (size_t i = 0; i < count; ++i) ((uint8_t*)result)[i] = a[i] | b[i];
    return true;
  }
  if (dtype == HLO_DTYPE_F32)
    return hlo_test_map_floats(what->op, operands[0], second, result, count);
  if (dtype == HLO_DTYPE_S32)
    return hlo_test_map_numbers(what->op, operands[0], second, result, count);
  return false;
}

static const hlo_tile_meaning_t MEANING = {.map = hlo_test_map};

static inline hlo_tile_kernel_t* hlo_test_parsed(hlo_arena_t* arena, const char* text) {
  hlo_tile_kernel_t* kernel = NULL;
  hlo_status_t status = hlo_tile_kernel_parse(arena, text, &kernel);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  return kernel;
}

// ---- a machine with registers of four f32

static const hlo_tile_target_t MACHINE = {
    .vector_bytes = 16,
    .vector_count = 16,
    .memory_count = 3,
    .atom_count = 4,
    .memories = {{"registers", 256, 16, 0, 0},
                 {"near", 32 << 10, 64, 32, 0},
                 {"main", INT64_MAX, 64, 8, 0}},
    .atoms = {{.name = "op", .op = HLO_TILE_ATOM_VECTOR, .per_ns = 2},
              {.name = "load", .op = HLO_TILE_ATOM_LOAD, .per_ns = 2},
              {.name = "gather", .op = HLO_TILE_ATOM_GATHER, .per_ns = 0.25},
              {.name = "shuffle", .op = HLO_TILE_ATOM_SHUFFLE, .per_ns = 2}},
};
