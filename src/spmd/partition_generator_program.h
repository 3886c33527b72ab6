// SPDX-License-Identifier: Apache-2.0
// Test helper: random programs over random meshes with random shardings.
#pragma once

#include <stdlib.h>

#include "spmd/partition_generator_control.h"
#include "spmd/partition_generator_index.h"

enum { HLO_GEN_OPS_MAX = 12 };

typedef void (*hlo_gen_op_t)(hlo_generator_t* g, uint32_t v);

static const struct {
  const char* name;
  hlo_gen_op_t put;
} hlo_gen_ops[] = {
    {"elementwise", hlo_gen_elementwise},
    {"negate", hlo_gen_negate},
    {"convert", hlo_gen_convert},
    {"compare", hlo_gen_compare},
    {"select", hlo_gen_select},
    {"barrier", hlo_gen_barrier},
    {"make", hlo_gen_make_any},
    {"constraint", hlo_gen_put_constraint},
    {"transpose", hlo_gen_transpose},
    {"broadcast", hlo_gen_broadcast},
    {"reshape", hlo_gen_reshape},
    {"slice", hlo_gen_slice},
    {"pad", hlo_gen_pad},
    {"reverse", hlo_gen_reverse},
    {"concatenate", hlo_gen_concatenate},
    {"roll", hlo_gen_roll},
    {"reduce", hlo_gen_reduce},
    {"argmax", hlo_gen_argmax},
    {"dot", hlo_gen_dot},
    {"sort", hlo_gen_sort},
    {"top_k", hlo_gen_top_k},
    {"fft", hlo_gen_fft},
    {"fft_planes", hlo_gen_fft_planes},
    {"batch_norm", hlo_gen_batch_norm},
    {"approx_top_k", hlo_gen_approx_top_k},
    {"cumulative_scan", hlo_gen_cumulative_scan},
    {"linear_algebra", hlo_gen_linear_algebra},
    {"random_bits", hlo_gen_random_bits},
    {"dimension_size", hlo_gen_dimension_size},
    {"dynamic_slice", hlo_gen_dynamic_slice},
    {"dynamic_update_slice", hlo_gen_dynamic_update_slice},
    {"gather", hlo_gen_gather},
    {"scatter", hlo_gen_scatter},
    {"reduce_window", hlo_gen_reduce_window},
    {"select_and_scatter", hlo_gen_select_and_scatter},
    {"convolution", hlo_gen_convolution},
    {"while", hlo_gen_while},
    {"scan", hlo_gen_scan},
    {"branches", hlo_gen_branches},
    {"manual_computation", hlo_gen_manual_computation},
};
enum { HLO_GEN_OP_KINDS = sizeof hlo_gen_ops / sizeof *hlo_gen_ops };

static inline void hlo_gen_put_op(hlo_generator_t* g) {
  const uint32_t v = hlo_gen_below(g, g->value_count), before = g->value_count;
  uint32_t kind = hlo_gen_below(g, HLO_GEN_OP_KINDS);
  const char* only = getenv("HLOCC_TEST_OP");  // and constraints
  if (only && hlo_gen_below(g, 2)) {
    for (kind = 0; strcmp(hlo_gen_ops[kind].name, only) != 0;) ++kind;
  }
  if (hlo_gen_count(&g->shapes[v]) > HLO_GEN_ELEMENTS_MAX) return;
  hlo_gen_ops[kind].put(g, v);
  if (g->value_count > before) hlo_gen_put(g, "\n");
}

// ---- programs

static inline void hlo_gen_put_mesh(hlo_generator_t* g) {
  int64_t left = 8;
  g->axis_count = 1 + hlo_gen_below(g, 3);
  for (uint32_t i = 0; i < g->axis_count; ++i) {
    const int64_t sizes[] = {2, 1, 3, 4, 8, 2};
    int64_t size = sizes[hlo_gen_below(g, 6)];
    if (size > left) size = 1;
    left /= size;
    g->axes[i] = size;
  }
  int64_t devices = 1;
  for (uint32_t i = 0; i < g->axis_count; ++i) devices *= g->axes[i];
  hlo_gen_put(g, "module attributes {mhlo.num_partitions = %lld : i32} {\n  sdy.mesh @mesh = <[",
              (long long)devices);
  for (uint32_t i = 0; i < g->axis_count; ++i) {
    hlo_gen_put(g, "%s\"%c\"=%lld", i ? ", " : "", 'a' + i, (long long)g->axes[i]);
  }
  hlo_gen_put(g, "]");
  g->is_reversed = hlo_gen_below(g, 4) == 0;
  for (int64_t i = devices; g->is_reversed && i-- > 0;) {
    hlo_gen_put(g, i == devices - 1 ? ", device_ids=[%lld" : ", %lld", (long long)i);
  }
  hlo_gen_put(g, g->is_reversed ? "]>\n" : ">\n");
}

static inline void hlo_gen_put_args(hlo_generator_t* g) {
  const uint32_t args = 1 + hlo_gen_below(g, 4);
  for (uint32_t i = 0; i < args; ++i) {
    hlo_gen_shape_t shape = {.rank = hlo_gen_below(g, HLO_GEN_RANK_MAX + 1), .bound = 3};
    shape.dtype = hlo_gen_below(g, 2) ? HLO_GEN_F32 : hlo_gen_below(g, HLO_GEN_PRED);
    for (uint32_t d = 0; d < shape.rank; ++d) shape.dims[d] = hlo_gen_size(g);
    while (hlo_gen_count(&shape) > HLO_GEN_ELEMENTS_MAX)
      shape.dims[hlo_gen_below(g, shape.rank)] = 2;
    hlo_gen_put(g, "%%v%u: ", i);
    hlo_gen_put_type(g, &shape);
    if (hlo_gen_below(g, 4)) {
      hlo_gen_put(g, " {sdy.sharding = #sdy.sharding");
      hlo_gen_put_sharding(g, &shape, true);
      hlo_gen_put(g, "}");
    }
    hlo_gen_put(g, ", ");
    hlo_gen_add(g, &shape);
  }
  hlo_gen_put(g, "%%index: tensor<i32>");
}

static inline void hlo_gen_put_constants(hlo_generator_t* g) {
  static const char* const values[][3] = {
      {"0.0", "3.0", "-16.0"},
      {"0.0", "3.0", "-16.0"},
      {"0", "3", "-2147483648"},
      {"false", "true", "false"},
  };
  static const char* const names[] = {"zero", "three", "low"};
  for (hlo_gen_dtype_t dtype = HLO_GEN_F32; dtype <= HLO_GEN_PRED; ++dtype) {
    for (uint32_t i = 0; i < 3; ++i) {
      hlo_gen_put(g, "    %%%s_%s = stablehlo.constant dense<%s> : ", names[i],
                  hlo_gen_dtype_name(dtype), values[dtype][i]);
      hlo_gen_put_scalar(g, dtype);
      hlo_gen_put(g, "\n");
    }
  }
  hlo_gen_put(g, "    %%five = stablehlo.constant dense<5> : tensor<i32>\n");
}

static inline uint32_t hlo_gen_number_from_env(const char* name, uint32_t fallback) {
  const char* text = getenv(name);
  return text ? (uint32_t)strtoul(text, NULL, 10) : fallback;
}

static inline void hlo_gen_put_program(hlo_generator_t* g) {
  hlo_gen_put_mesh(g);
  hlo_gen_put(g, "  func.func @main(");
  hlo_gen_put_args(g);
  hlo_strbuf_t head = g->text;
  g->text = (hlo_strbuf_t){0};
  const uint32_t count =
      1 + hlo_gen_below(g, hlo_gen_number_from_env("HLOCC_TEST_OPS", HLO_GEN_OPS_MAX));
  for (uint32_t i = 0; i < count && g->value_count < HLO_GEN_VALUES_MAX / 2; ++i) hlo_gen_put_op(g);
  hlo_strbuf_t body = g->text;
  g->text = head;
  const uint32_t last = g->value_count - 1, other = hlo_gen_below(g, g->value_count);
  hlo_gen_put(g, ") -> (");
  hlo_gen_put_type(g, &g->shapes[last]);
  hlo_gen_put(g, ", ");
  hlo_gen_put_type(g, &g->shapes[other]);
  if (hlo_gen_below(g, 2)) {
    hlo_gen_put(g, " {sdy.sharding = #sdy.sharding");
    hlo_gen_put_sharding(g, &g->shapes[other], true);
    hlo_gen_put(g, "}");
  }
  hlo_gen_put(g, ") {\n");
  hlo_gen_put_constants(g);
  hlo_strbuf_puts(&g->text, hlo_strbuf_text(&body));
  hlo_gen_put(g, "    return %%v%u, %%v%u : ", last, other);
  hlo_gen_put_type(g, &g->shapes[last]);
  hlo_gen_put(g, ", ");
  hlo_gen_put_type(g, &g->shapes[other]);
  hlo_gen_put(g,
              "\n  }\n  func.func private @first_is_greater(%%a: tensor<f32>, %%b: tensor<f32>, "
              "%%i: tensor<i32>, %%j: tensor<i32>) -> tensor<i1> {\n    %%c = stablehlo.compare "
              "GT, %%a, %%b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n    return %%c : "
              "tensor<i1>\n  }\n}\n");
  hlo_strbuf_deinit(&body);
}

/// Returns the text for many devices, or for one. owner: hlo_mem_free()
static inline char* hlo_gen_program_text(const hlo_generator_t* g, bool is_whole) {
  const char* from = hlo_strbuf_text(&g->text);
  char* text = hlo_mem_alloc(strlen(from) + 1);
  assert_non_null(text);
  size_t length = 0;
  char kind = *HLO_GEN_BOTH;
  for (; *from; ++from) {
    if (*from == *HLO_GEN_PARTS || *from == *HLO_GEN_WHOLE || *from == *HLO_GEN_BOTH) {
      kind = *from;
    } else if (kind == *HLO_GEN_BOTH || is_whole == (kind == *HLO_GEN_WHOLE)) {
      text[length++] = *from;
    }
  }
  text[length] = 0;
  return text;
}
