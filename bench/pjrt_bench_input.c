// SPDX-License-Identifier: Apache-2.0
// Inputs of the stored programs, see pjrt_bench_input.h.
#include "pjrt_bench_input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"

typedef enum input_kind { DEFINITE, POSITIVE, IN_ORDER, BELOW, BYTES } input_kind_t;

typedef struct input_row {
  const char* beginning;  // of program names
  input_kind_t kind;
  uint32_t limit;
} input_row_t;

static const input_row_t kRows[] = {
#define INPUT(beginning, kind, limit) {beginning, kind, limit},
#include "inputs.def"
#undef INPUT
};

/// Returns the program's row of a kind, or NULL.
static const input_row_t* find_row(const char* program, input_kind_t kind) {
  for (size_t i = 0; i < sizeof kRows / sizeof *kRows; ++i) {
    const input_row_t* row = &kRows[i];
    if (row->kind == kind && strncmp(program, row->beginning, strlen(row->beginning)) == 0) {
      return row;
    }
  }
  return NULL;
}

/// Uniform in [-1, 1), from a multiplicative congruential generator.
static float next_value(uint64_t* state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (float)(int32_t)(*state >> 32) * 0x1p-31f;
}

/// Symmetric and positive definite: small values and a dominant diagonal.
static void make_definite(float* values, int64_t size) {
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t k = 0; k < i; ++k) values[i * size + k] = values[k * size + i];
    values[i * size + i] = (float)size;
  }
}

/// Normalised, so that products of matrices keep their magnitude.
static void fill_floats(const hlo_type_t* type, const char* program, float* values, size_t count) {
  uint64_t state = count;
  bool is_positive = find_row(program, POSITIVE);
  float scale = type->rank > 1 ? 1.0f / sqrtf((float)type->dims[type->rank - 2]) : 1.0f;
  for (size_t i = 0; i < count; ++i) {
    float value = next_value(&state) * scale;
    values[i] = is_positive ? fabsf(value) + 1e-3f : value;
  }
  if (find_row(program, DEFINITE) && type->rank == 2) make_definite(values, type->dims[0]);
}

static void fill_integers(const hlo_type_t* type, const char* program, uint8_t* data,
                          size_t count) {
  const size_t size = hlo_dtype_size_bytes(type->dtype);
  const input_row_t* below = find_row(program, BELOW);
  bool in_order = find_row(program, IN_ORDER), bytes = find_row(program, BYTES);
  float limit = below ? (float)below->limit : 10;
  uint64_t state = count;
  for (size_t i = 0; i < count; ++i) {
    float noise = next_value(&state);
    uint64_t value = in_order ? i
                     : bytes  ? (uint64_t)(int64_t)(noise * 128)
                              : (uint64_t)(fabsf(noise) * limit);
    if (!in_order && !bytes && value >= (uint64_t)limit) value = 0;  // of a noise of exactly -1
    if (type->dtype == HLO_DTYPE_PRED) value &= 1;
    memcpy(data + i * size, &value, size);
  }
}

static bool fill(const hlo_type_t* type, const char* program, size_t count, void* data) {
  uint64_t state = count;
  switch (type->dtype) {
    case HLO_DTYPE_F32: fill_floats(type, program, data, count); return true;
    case HLO_DTYPE_C64: fill_floats(type, program, data, 2 * count); return true;
    case HLO_DTYPE_BF16: {
      float* wide = malloc(count * sizeof *wide);
      if (!wide) return false;
      fill_floats(type, program, wide, count);
      for (size_t i = 0; i < count; ++i) {  // the upper half of the bits: rounds towards zero
        memcpy((uint8_t*)data + i * 2, (uint8_t*)&wide[i] + 2, 2);
      }
      free(wide);
      return true;
    }
    case HLO_DTYPE_F64:
      for (size_t i = 0; i < count; ++i) ((double*)data)[i] = (double)next_value(&state);
      return true;
    case HLO_DTYPE_PRED:
    case HLO_DTYPE_S8:
    case HLO_DTYPE_U8:
    case HLO_DTYPE_S32:
    case HLO_DTYPE_U32:
    case HLO_DTYPE_S64:
    case HLO_DTYPE_U64: fill_integers(type, program, data, count); return true;
    default: return false;
  }
}

bool hlo_bench_input_make(const hlo_type_t* type, const char* program, hlo_bench_input_t* out) {
  const size_t count = (size_t)hlo_type_element_count(type);
  void* data = malloc(count * hlo_dtype_size_bytes(type->dtype) + 1);
  if (!data || !fill(type, program, count, data)) {
    free(data);
    return false;
  }
  *out = (hlo_bench_input_t){.pjrt_type = (uint32_t)hlo_dtype_info(type->dtype)->pjrt_type,
                             .rank = type->rank,
                             .dims = type->dims,
                             .data = data};
  return true;
}

void hlo_bench_input_free(hlo_bench_input_t* input) {
  free(input->data);
}
