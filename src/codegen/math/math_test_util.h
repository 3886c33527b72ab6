// SPDX-License-Identifier: Apache-2.0
// Shared by tests of expressions: loops over arrays of elements in the interpreter of vector IR and
// as machine code, and operands with special values. Include after cmocka.h.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/fpenv.h"
#include "codegen/isa/isa.h"
#include "codegen/jit/jit.h"
#include "codegen/math/math.h"
#include "codegen/target/target.h"
#include "codegen/vir/interp.h"

enum { COUNT = 4096, WIDEST = 64, PARAMS = 3 };

// The treatment of subnormal numbers in the current group of tests.
static hlo_subnormals_t subnormals;

typedef hlo_vir_value_t* (*hlo_test_vmath_body_t)(hlo_vir_builder_t* b, const void* context,
                                                  hlo_vir_value_t* x, hlo_vir_value_t* y);

static inline uint32_t hlo_test_log2_bytes(hlo_dtype_t dtype) {
  return (uint32_t)__builtin_ctz((unsigned)hlo_dtype_size_bytes(dtype));
}

/// A loop over arrays of elements: out[i] = body(x[i], y[i]).
typedef struct hlo_test_vmath_kernel {
  hlo_dtype_t from, to;
  hlo_test_vmath_body_t body;
  const void* context;
} hlo_test_vmath_kernel_t;

static inline hlo_vir_value_t* hlo_test_load(hlo_vir_builder_t* b, hlo_dtype_t dtype,
                                             uint32_t lanes, hlo_vir_value_t* base,
                                             hlo_vir_value_t* index) {
  hlo_vir_value_t* address[] = {base, index};
  hlo_vir_value_t* raw = hlo_vir_emit(b, HLO_VIR_load, hlo_vmath_memory_type(dtype, lanes),
                                      hlo_test_log2_bytes(dtype), 0, 2, address);
  return hlo_vmath_from_memory(b, dtype, raw);
}

static inline hlo_vir_module_t* hlo_test_build_kernel(const hlo_test_vmath_kernel_t* kernel,
                                                      uint32_t lanes, bool has_permute,
                                                      bool has_scale) {
  hlo_vir_module_t* module;
  assert_true(hlo_status_is_ok(hlo_vir_module_create(&module)));
  module->has_permute = has_permute;
  module->has_scale = has_scale;
  module->subnormals = subnormals;
  hlo_vir_func_t* func = hlo_vir_func_create(module, "kernel", PARAMS, false);
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  hlo_vir_value_t* p[PARAMS];
  for (uint32_t i = 0; i < PARAMS; ++i) p[i] = hlo_vir_param(&b, i);
  hlo_vir_value_t* count = hlo_vir_iconst(&b, COUNT);
  hlo_vir_value_t* index = hlo_vir_begin_for(&b, hlo_vir_iconst(&b, 0), count, lanes, 0);
  hlo_vir_value_t* x = hlo_test_load(&b, kernel->from, lanes, p[0], index);
  hlo_vir_value_t* y = hlo_test_load(&b, kernel->from, lanes, p[1], index);
  hlo_vir_value_t* result = kernel->body(&b, kernel->context, x, y);
  assert_non_null(result);
  assert_int_equal(result->type.elem, hlo_vmath_type(kernel->to, lanes).elem);
  assert_int_equal(result->type.lanes, lanes);
  hlo_vir_value_t* stored[] = {hlo_vmath_to_memory(&b, kernel->to, result), p[2], index};
  hlo_vir_emit(&b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), hlo_test_log2_bytes(kernel->to), 0,
               3, stored);
  hlo_vir_end(&b);
  hlo_vir_return(&b, hlo_vir_iconst(&b, 0));
  hlo_vir_builder_deinit(&b);
  return module;
}

static inline uint32_t hlo_test_max(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

// Returns the lanes for which both the operands' and the result's register forms fit.
static inline uint32_t hlo_test_lanes(const hlo_test_vmath_kernel_t* kernel,
                                      uint32_t vector_bytes) {
  uint32_t bits =
      hlo_test_max(hlo_vir_elem_bits((hlo_vir_elem_t)hlo_vmath_type(kernel->from, 1).elem),
                   hlo_vir_elem_bits((hlo_vir_elem_t)hlo_vmath_type(kernel->to, 1).elem));
  return bits == 0 ? 8 : 8 * vector_bytes / bits;
}

static inline void hlo_test_check_status(hlo_status_t status) {
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
}

static inline void hlo_test_interpret(const hlo_vir_module_t* module, const void* x, const void* y,
                                      void* out) {
  const uint64_t params[PARAMS] = {(uintptr_t)x, (uintptr_t)y, (uintptr_t)out};
  const hlo_vir_interp_options_t options = {.check_memory = false};
  int32_t answer = -1;
  hlo_test_check_status(hlo_vir_interp_run(module->first_func, params, &options, &answer));
  assert_int_equal(answer, 0);
}

typedef int32_t (*hlo_test_vmath_code_t)(const void* x, const void* y, void* out);

static inline void hlo_test_execute(const hlo_vir_module_t* module, const hlo_target_t* target,
                                    const void* x, const void* y, void* out) {
  hlo_code_t code = {0};
  hlo_jit_t* jit = NULL;
  hlo_test_check_status(hlo_code_compile(module, target, &code));
  hlo_test_check_status(hlo_jit_load(&code, "math", NULL, &jit));
  const hlo_fp_state_t before = hlo_fp_enter(subnormals);
  assert_int_equal(((hlo_test_vmath_code_t)(uintptr_t)hlo_jit_address(jit, 0))(x, y, out), 0);
  hlo_fp_leave(before);
  hlo_jit_release(jit);
  hlo_code_deinit(&code);
}

static inline bool hlo_test_is_nan(hlo_dtype_t dtype, const void* element) {
  return hlo_dtype_is_float(dtype) && isnan(hlo_dtype_load_double(dtype, element));
}

static inline void hlo_test_assert_same(const char* what, hlo_dtype_t from, const uint8_t* x,
                                        hlo_dtype_t to, const uint8_t* got, const uint8_t* want) {
  const size_t width = hlo_dtype_size_bytes(to);
  for (size_t i = 0; i < COUNT; ++i, got += width, want += width) {
    if (memcmp(got, want, width) == 0 || (hlo_test_is_nan(to, got) && hlo_test_is_nan(to, want)))
      continue;
    fail_msg("%s of %s %a: %a, not %a", what, hlo_dtype_info(from)->name,
             hlo_dtype_load_double(from, x + i * hlo_dtype_size_bytes(from)),
             hlo_dtype_load_double(to, got), hlo_dtype_load_double(to, want));
  }
}

// The CPUs that this one can run code for, widest last.
static hlo_target_t targets[3];
static size_t target_count;

static inline int hlo_test_find_targets(hlo_subnormals_t wanted) {
  static const char* const names[] = {"sse2", "avx2", "avx512"};
  subnormals = wanted;
  target_count = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    hlo_cpu_t cpu;
    hlo_status_t status = hlo_cpu_detect(names[i], &cpu);
    if (hlo_status_is_ok(status)) {
      hlo_target_init(&cpu, &targets[target_count]);
      targets[target_count].subnormals = wanted;
    }
    target_count += hlo_status_is_ok(status) && targets[target_count].has_encoder;
    hlo_status_release(status);
  }
  return 0;
}

static inline int hlo_test_keep_subnormals(void** state) {
  (void)state;
  return hlo_test_find_targets(HLO_SUBNORMALS_KEEP);
}

static inline int hlo_test_flush_subnormals(void** state) {
  (void)state;
  return hlo_test_find_targets(HLO_SUBNORMALS_FLUSH);
}

// Compares machine code for every target that supports the module with `want`, bit by bit.
static inline void hlo_test_compare_code(const hlo_test_vmath_kernel_t* kernel,
                                         const hlo_vir_module_t* module, uint32_t vector_bytes,
                                         const void* x, const void* y, const void* want) {
  static _Alignas(64) uint8_t out[8 * COUNT];
  for (size_t i = 0; i < target_count; ++i) {
    if (targets[i].vector_bytes < vector_bytes) continue;
    if (module->has_scale && !targets[i].has_scale) continue;
    hlo_test_execute(module, &targets[i], x, y, out);
    hlo_test_assert_same("machine code", kernel->from, x, kernel->to, out, want);
  }
}

// Runs the kernel in the interpreter and compares with `permute` and `scale`, and with machine
// code. vector_bytes 0: one lane
static inline void hlo_test_run_kernel(const hlo_test_vmath_kernel_t* kernel, uint32_t vector_bytes,
                                       const void* x, const void* y, void* out) {
  enum { PLAIN, WITH_PERMUTE, WITH_SCALE, FORMS };
  static _Alignas(64) uint8_t other_out[8 * COUNT];
  const uint32_t lanes = vector_bytes ? hlo_test_lanes(kernel, vector_bytes) : 1;
  for (int form = PLAIN; form < FORMS; ++form) {
    hlo_vir_module_t* module =
        hlo_test_build_kernel(kernel, lanes, form >= WITH_PERMUTE, form >= WITH_SCALE);
    hlo_test_check_status(hlo_vir_verify(module, hlo_test_max(vector_bytes, 8)));
    hlo_test_interpret(module, x, y, form == PLAIN ? out : other_out);
    hlo_test_compare_code(kernel, module, vector_bytes, x, y, out);
    hlo_vir_module_release(module);
    if (form == PLAIN) continue;
    hlo_test_assert_same("other form", kernel->from, x, kernel->to, other_out, out);
  }
}

// ---- operands -----------------------------------------------------------------------------------

static inline uint64_t hlo_test_next_random(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state * 0x2545f4914f6cdd1dull;
}

// Special floats, as doubles.
static const double edges[] = {0,
                               1,
                               0.5,
                               0x1.fffffep-2,
                               1.5,
                               2,
                               2.5,
                               3,
                               4,
                               5,
                               6,
                               7,
                               7.5,
                               28,
                               30,
                               127.5,
                               128,
                               129,
                               240,
                               247.9,
                               248,
                               255.5,
                               256,
                               448,
                               464,
                               480,
                               57344,
                               61440,
                               65504,
                               65519,
                               65520,
                               0x1p31,
                               0x1.fffffffcp30,
                               0x1p32,
                               0x1.fffffffcp31,
                               0x1p52,
                               0x1p63,
                               0x1p64,
                               0x1p-24,
                               0x1p-127,
                               0x1p-126,
                               0x1p-149,
                               0x1.8p-150,
                               0x1.fffffep-127,
                               0x1.234p-130,
                               0x1p-133,
                               0x1p-1022,
                               0x1.ffffffffffffep-1023,
                               0x1.234p-1030,
                               0x1p-1074,
                               87.34,
                               88.73,
                               103.98,
                               708.4,
                               709.79,
                               710.4758,
                               745.14,
                               0x1.fffffep127,
                               0x1.fffffffffffffp1023,
                               INFINITY,
                               NAN};
enum { EDGES = 2 * sizeof edges / sizeof edges[0] };

static inline double hlo_test_edge(size_t i) {
  const double value = edges[i / 2 % (sizeof edges / sizeof edges[0])];
  return i % 2 ? -value : value;
}

// Returns a random float: any bits, moderate size, few bits, or adjacent to a number with few bits.
static inline double hlo_test_random_float(uint64_t* state, bool is_f64) {
  const uint64_t random = hlo_test_next_random(state);
  uint64_t bits = is_f64 ? random : random >> 32;
  double wide;
  float narrow;
  if (random % 4 != 0) {
    const int64_t few = (int64_t)(random >> 8 & 0x1fff) - 0x1000;
    wide = ldexp((double)few, (int)(random >> 40 & 63) - 44);
    narrow = (float)wide;
    uint32_t narrow_bits;
    memcpy(&bits, &wide, sizeof bits);
    memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
    if (!is_f64) bits = narrow_bits;
    bits += random % 4 == 2 ? random >> 30 & 1 : 0;
    bits -= random % 4 == 3 ? random >> 31 & 1 : 0;
  }
  const uint32_t low = (uint32_t)bits;
  memcpy(&wide, &bits, sizeof wide);
  memcpy(&narrow, &low, sizeof narrow);
  return is_f64 ? wide : (double)narrow;
}

static inline int64_t hlo_test_random_integer(uint64_t* state) {
  const uint64_t random = hlo_test_next_random(state);
  const int64_t power = (int64_t)((1ull << (random >> 8 & 63)) + (random >> 16 & 3) - 1);
  switch (random % 4) {
    case 0: return (int64_t)hlo_test_next_random(state);
    case 1: return (int64_t)(hlo_test_next_random(state)) >> (random >> 8 & 63);
    case 2: return random & 4 ? (int64_t)(0 - (uint64_t)power) : power;
    default:
      return (int64_t)((random >> 20 & 0x1ff) << (random >> 8 & 31)) + (int64_t)(random >> 40 & 1);
  }
}

// Fills elements in memory: all values of types of at most 8 bits, some of 16 bits.
static inline void hlo_test_fill(hlo_dtype_t dtype, uint64_t seed, void* out) {
  const size_t width = hlo_dtype_size_bytes(dtype);
  const unsigned bits = hlo_dtype_info(dtype)->bits;
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  uint8_t* at = out;
  for (size_t i = 0; i < COUNT; ++i, at += width) {
    if (hlo_dtype_is_float(dtype) && width >= 4) {
      const double value = i < EDGES ? hlo_test_edge(i) : hlo_test_random_float(&state, width == 8);
      hlo_dtype_store_double(dtype, at, value);
    } else if (width >= 4) {
      hlo_dtype_store_int64(dtype, at, hlo_test_random_integer(&state));
    } else {
      const uint64_t code = width == 1 ? i * seed + (i >> 8) : i * 17 * seed;
      const uint64_t kept = code & ((1u << bits) - 1u);
      const uint64_t sign = hlo_dtype_is_signed(dtype) ? ~0ull << (bits - 1) : 0;
      const uint64_t extended = kept & sign ? kept | sign : kept;
      memcpy(at, &extended, width);
    }
  }
}

static _Alignas(64) uint8_t x_data[8 * COUNT], y_data[8 * COUNT], out_data[8 * COUNT];

// Fills y_data with elements of x_data, often special values or the same element.
static inline void hlo_test_fill_second(hlo_dtype_t dtype) {
  const size_t width = hlo_dtype_size_bytes(dtype);
  uint64_t state = 7;
  for (size_t i = 0; i < COUNT; ++i) {
    const uint64_t random = hlo_test_next_random(&state);
    const size_t j = random & 1 ? random >> 8 & 127 : random >> 8 & (COUNT - 1);
    memcpy(y_data + i * width, x_data + (random & 6 ? j : i) * width, width);
  }
}

static const uint32_t widths[] = {0, 16, 32, 64};

// ---- ops ----------------------------------------------------------------------------------------

typedef struct hlo_test_op_case {
  hlo_op_t op;
  hlo_dtype_t dtype;
} hlo_test_op_case_t;

static inline hlo_vir_value_t* hlo_test_op_body(hlo_vir_builder_t* b, const void* context,
                                                hlo_vir_value_t* x, hlo_vir_value_t* y) {
  const hlo_test_op_case_t* c = context;
  hlo_vir_value_t* result = hlo_vmath_emit(b, c->op, c->dtype, x, y);
  const bool is_predicate = result && result->type.elem == HLO_VIR_MASK;
  return result && !is_predicate ? hlo_vmath_round_to(b, c->dtype, result) : result;
}

// The largest errors of math.def by op; 0: equal to the reference.
static const double f32_ulps[HLO_OP_COUNT] = {
#define HLO_VMATH(op, operands, f32, f32_ulps, f64_ulps) [HLO_OP_##op] = f32_ulps,
#include "codegen/math/math.def"
};
static const double f64_ulps[HLO_OP_COUNT] = {
#define HLO_VMATH(op, operands, f32, f32_ulps, f64_ulps) [HLO_OP_##op] = f64_ulps,
#include "codegen/math/math.def"
};
