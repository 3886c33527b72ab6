// SPDX-License-Identifier: Apache-2.0
// The sharding rule of every op, as text.
#include "spmd/rule.h"

#include "base/mem.h"
#include "ir/clone.h"
#include "ir/test_util.h"

// Bodies of regions on two scalars.
#define ARGUMENTS "{\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
#define ADD \
  ARGUMENTS "%s = stablehlo.add %p, %q : tensor<f32>\nstablehlo.return %s : tensor<f32>\n}"
#define SET ARGUMENTS "stablehlo.return %q : tensor<f32>\n}"
#define LESS                                                                       \
  ARGUMENTS                                                                        \
  "%s = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n" \
  "stablehlo.return %s : tensor<i1>\n}"

typedef struct rule_case {
  hlo_op_t op;
  const char* arguments;  // name:type, separated by spaces
  const char* body;
  const char* rule;  // of the last `op`
} rule_case_t;

static const rule_case_t cases[] = {
    {HLO_OP_add, "a:4x1x8xf32", "%r = stablehlo.add %a, %a : tensor<4x1x8xf32>",
     "([i, j, k], [i, j, k])->([i, j, k]) {i=4, j=1, k=8}"},
    {HLO_OP_clamp, "a:f32 b:4x8xf32",
     "%r = stablehlo.clamp %a, %b, %a : (tensor<f32>, tensor<4x8xf32>, tensor<f32>) -> "
     "tensor<4x8xf32>",
     "([], [i, j], [])->([i, j]) {i=4, j=8}"},
    {HLO_OP_select, "p:i1 a:4x8xf32",
     "%r = stablehlo.select %p, %a, %a : tensor<i1>, tensor<4x8xf32>",
     "([], [i, j], [i, j])->([i, j]) {i=4, j=8}"},
    {HLO_OP_map, "a:4x8xf32 b:4x8xf32",
     "%r = \"stablehlo.map\"(%a, %b) <{dimensions = array<i64: 0, 1>}> (" ADD
     ") : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>",
     "([i, j], [i, j])->([i, j]) {i=4, j=8}"},
    {HLO_OP_convert, "a:4x8xf32",
     "%r = stablehlo.convert %a : (tensor<4x8xf32>) -> tensor<4x8xbf16>",
     "([i, j])->([i, j]) {i=4, j=8}"},
    {HLO_OP_complex, "a:4x8xf32", "%r = stablehlo.complex %a, %a : tensor<4x8xcomplex<f32>>",
     "([i, j], [i, j])->([i, j]) {i=4, j=8}"},
    {HLO_OP_chlo_erf, "a:4x8xf32", "%r = chlo.erf %a : tensor<4x8xf32> -> tensor<4x8xf32>",
     "([i, j])->([i, j]) {i=4, j=8}"},
    {HLO_OP_chlo_constant_like, "a:4x8xf32",
     "%r = \"chlo.constant_like\"(%a) <{value = 1.0 : f32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>",
     "([i, j])->([i, j]) {i=4, j=8}"},
    {HLO_OP_chlo_broadcast_add, "a:4x8x2xf32 b:8x1xf32",
     "%r = chlo.broadcast_add %a, %b : (tensor<4x8x2xf32>, tensor<8x1xf32>) -> tensor<4x8x2xf32>",
     "([i, j, k], [j, l])->([i, j, k]) {i=4, j=8, k=2, l=1}"},
    {HLO_OP_chlo_broadcast_multiply, "a:4x8x2xf32 b:4x2xf32",
     "%r = chlo.broadcast_multiply %a, %b {broadcast_dimensions = array<i64: 0, 2>} : "
     "(tensor<4x8x2xf32>, tensor<4x2xf32>) -> tensor<4x8x2xf32>",
     "([i, j, k], [i, k])->([i, j, k]) {i=4, j=8, k=2}"},
    {HLO_OP_sdy_sharding_constraint, "a:4x8xf32",
     "%r = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<4x8xf32>",
     "([i, j])->([i, j]) {i=4, j=8}"},
    {HLO_OP_optimization_barrier, "a:4x8xf32 b:4xf32",
     "%r:2 = stablehlo.optimization_barrier %a, %b : tensor<4x8xf32>, tensor<4xf32>",
     "([i, j], [k])->([i, j], [k]) {i=4, j=8, k=4}"},
    {HLO_OP_bitcast_convert, "a:4x8xf32",
     "%r = stablehlo.bitcast_convert %a : (tensor<4x8xf32>) -> tensor<4x8xi32>",
     "([i, j])->([i, j]) {i=4, j=8}"},
    {HLO_OP_bitcast_convert, "a:4x8xf32",
     "%r = stablehlo.bitcast_convert %a : (tensor<4x8xf32>) -> tensor<4x8x2xi16>",
     "([i, j])->([i, j, k]) {i=4, j=8, k=2} need_replication={k}"},
    {HLO_OP_bitcast_convert, "a:4x2xi16",
     "%r = stablehlo.bitcast_convert %a : (tensor<4x2xi16>) -> tensor<4xf32>",
     "([i, j])->([i]) {i=4, j=2} need_replication={j}"},
    {HLO_OP_transpose, "a:2x3x5xf32",
     "%r = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x3x5xf32>) -> tensor<5x2x3xf32>",
     "([j, k, i])->([i, j, k]) {i=5, j=2, k=3}"},
    {HLO_OP_broadcast, "a:3x5xf32",
     "%r = \"stablehlo.broadcast\"(%a) <{broadcast_sizes = array<i64: 2>}> : (tensor<3x5xf32>) -> "
     "tensor<2x3x5xf32>",
     "([j, k])->([i, j, k]) {i=2, j=3, k=5}"},
    {HLO_OP_broadcast_in_dim, "a:5x1xf32",
     "%r = stablehlo.broadcast_in_dim %a, dims = [2, 1] : (tensor<5x1xf32>) -> tensor<2x3x5xf32>",
     "([l, j])->([i, k, l]) {i=2, j=1, k=3, l=5}"},
    {HLO_OP_broadcast_in_dim, "a:f32",
     "%r = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<2x3xf32>",
     "([])->([i, j]) {i=2, j=3}"},
    {HLO_OP_reshape, "a:2x4x8xf32",
     "%r = stablehlo.reshape %a : (tensor<2x4x8xf32>) -> tensor<8x8xf32>",
     "([i, j, k])->([ij, k]) {i=2, j=4, k=8}"},
    {HLO_OP_reshape, "a:8x8xf32",
     "%r = stablehlo.reshape %a : (tensor<8x8xf32>) -> tensor<2x4x8xf32>",
     "([ij, k])->([i, j, k]) {i=2, j=4, k=8}"},
    {HLO_OP_reshape, "a:8x4xf32",
     "%r = stablehlo.reshape %a : (tensor<8x4xf32>) -> tensor<2x16xf32>",
     "([ij, k])->([i, jk]) {i=2, j=4, k=4}"},
    {HLO_OP_reshape, "a:2x3x5xf32",
     "%r = stablehlo.reshape %a : (tensor<2x3x5xf32>) -> tensor<5x3x2xf32>",
     "([i, k, m])->([j, l, n]) {i=2, j=5, k=3, l=3, m=5, n=2}"},
    {HLO_OP_reshape, "a:12x35xf32",
     "%r = stablehlo.reshape %a : (tensor<12x35xf32>) -> tensor<4x15x7xf32>",
     "([ij, kl])->([i, jk, l]) {i=4, j=3, k=5, l=7}"},
    {HLO_OP_reshape, "a:1x4x1xf32",
     "%r = stablehlo.reshape %a : (tensor<1x4x1xf32>) -> tensor<2x1x2xf32>",
     "([i, jl, m])->([j, k, l]) {i=1, j=2, k=1, l=2, m=1}"},
    {HLO_OP_concatenate, "a:4x8xf32 b:4x2xf32",
     "%r = stablehlo.concatenate %a, %b, dim = 1 : (tensor<4x8xf32>, tensor<4x2xf32>) -> "
     "tensor<4x10xf32>",
     "([i, j], [i, j])->([i, j]) {i=4, j=10} need_replication={j}"},
    {HLO_OP_concatenate, "a:4x8xf32",
     "%0 = stablehlo.slice %a [0:4, 7:8] : (tensor<4x8xf32>) -> tensor<4x1xf32>\n%1 = "
     "stablehlo.slice %a [0:4, 0:7] : (tensor<4x8xf32>) -> tensor<4x7xf32>\n%r = "
     "stablehlo.concatenate %0, %1, dim = 1 : (tensor<4x1xf32>, tensor<4x7xf32>) -> "
     "tensor<4x8xf32>",
     "([i, j], [i, j])->([i, j]) {i=4, j=8} permutation={j}"},
    {HLO_OP_slice, "a:4x8xf32",
     "%r = stablehlo.slice %a [0:4, 2:8:2] : (tensor<4x8xf32>) -> tensor<4x3xf32>",
     "([i, j])->([i, j]) {i=4, j=8} permutation={j}"},
    {HLO_OP_pad, "a:4x8xf32 z:f32",
     "%r = stablehlo.pad %a, %z, low = [0, 1], high = [0, 1], interior = [0, 0] : "
     "(tensor<4x8xf32>, tensor<f32>) -> tensor<4x10xf32>",
     "([i, j], [])->([i, j]) {i=4, j=8} permutation={j}"},
    {HLO_OP_pad, "a:4x8xf32 z:f32",
     "%r = stablehlo.pad %a, %z, low = [0, 1], high = [0, -1], interior = [0, 0] : "
     "(tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>",
     "([i, j], [])->([i, j]) {i=4, j=8} permutation={j}"},
    {HLO_OP_reverse, "a:4x8xf32", "%r = stablehlo.reverse %a, dims = [1] : tensor<4x8xf32>",
     "([i, j])->([i, j]) {i=4, j=8} permutation={j}"},
    {HLO_OP_dynamic_slice, "a:4x8xf32 i:i32",
     "%r = stablehlo.dynamic_slice %a, %i, %i, sizes = [4, 2] : (tensor<4x8xf32>, tensor<i32>, "
     "tensor<i32>) -> tensor<4x2xf32>",
     "([i, j], [], [])->([i, j]) {i=4, j=8} need_replication={j} blocked_propagation={j}"},
    {HLO_OP_dynamic_update_slice, "a:4x8xf32 b:4x2xf32 i:i32",
     "%r = stablehlo.dynamic_update_slice %a, %b, %i, %i : (tensor<4x8xf32>, tensor<4x2xf32>, "
     "tensor<i32>, tensor<i32>) -> tensor<4x8xf32>",
     "([i, j], [i, k], [], [])->([i, j]) {i=4, j=8, k=2} need_replication={k}"},
    {HLO_OP_dynamic_update_slice, "a:4x8xf32 b:4x2xf32",
     "%i = stablehlo.constant dense<0> : tensor<i32>\n%r = stablehlo.dynamic_update_slice %a, %b, "
     "%i, %i : (tensor<4x8xf32>, tensor<4x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>",
     "([i, j], [i, k], [], [])->([i, j]) {i=4, j=8, k=2}"},
    {HLO_OP_gather, "a:6x8xf32 i:5x1xi32",
     "%r = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
     "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = "
     "array<i64: 1, 8>}> : (tensor<6x8xf32>, tensor<5x1xi32>) -> tensor<5x8xf32>",
     "([k, j], [i, l])->([i, j]) {i=5, j=8, k=6, l=1} reduction={k} need_replication={l}"},
    {HLO_OP_gather, "a:6x8x3xf32 i:5x2xi32",
     "%r = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, "
     "2, 3], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4, 3>}> "
     ": (tensor<6x8x3xf32>, tensor<5x2xi32>) -> tensor<5x1x4x3xf32>",
     "([j, l, m], [i, n])->([i, k, l, m]) {i=5, j=6, k=1, l=8, m=3, n=2} reduction={j} "
     "need_replication={k, l, n} blocked_propagation={l}"},
    {HLO_OP_gather, "a:7x6x8xf32 i:7x5x1xi32",
     "%r = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], "
     "collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], "
     "start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 8>}> : "
     "(tensor<7x6x8xf32>, tensor<7x5x1xi32>) -> tensor<7x5x8xf32>",
     "([i, l, k], [i, j, m])->([i, j, k]) {i=7, j=5, k=8, l=6, m=1} reduction={l} "
     "need_replication={m}"},
    {HLO_OP_scatter, "a:6x8xf32 i:5x1xi32 u:5x8xf32",
     "%r = \"stablehlo.scatter\"(%a, %i, %u) <{scatter_dimension_numbers = "
     "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
     "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> (" ADD
     ") : (tensor<6x8xf32>, tensor<5x1xi32>, tensor<5x8xf32>) -> tensor<6x8xf32>",
     "([k, j], [i, l], [i, j])->([k, j]) {i=5, j=8, k=6, l=1} reduction={i} need_replication={l}"},
    {HLO_OP_scatter, "a:6x8xf32 i:5x1xi32 u:5x2xf32",
     "%r = \"stablehlo.scatter\"(%a, %i, %u) <{scatter_dimension_numbers = "
     "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
     "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> (" SET
     ") : (tensor<6x8xf32>, tensor<5x1xi32>, tensor<5x2xf32>) -> tensor<6x8xf32>",
     "([l, j], [i, m], [i, k])->([l, j]) {i=5, j=8, k=2, l=6, m=1} need_replication={i, j, k, m}"},
    {HLO_OP_scatter, "a:7x6xf32 i:7x5x1xi32 u:7x5xf32",
     "%r = \"stablehlo.scatter\"(%a, %i, %u) <{scatter_dimension_numbers = "
     "#stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], "
     "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = "
     "2>}> (" SET ") : (tensor<7x6xf32>, tensor<7x5x1xi32>, tensor<7x5xf32>) -> tensor<7x6xf32>",
     "([i, k], [i, j, l], [i, j])->([i, k]) {i=7, j=5, k=6, l=1} need_replication={j, l}"},
    {HLO_OP_dot_general, "a:2x4x8xf32 b:2x8x5xf32",
     "%r = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : "
     "(tensor<2x4x8xf32>, tensor<2x8x5xf32>) -> tensor<2x4x5xf32>",
     "([i, j, l], [i, l, k])->([i, j, k]) {i=2, j=4, k=5, l=8} reduction={l}"},
    {HLO_OP_dot, "a:4x8xf32 b:8x5xf32",
     "%r = stablehlo.dot %a, %b : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>",
     "([i, k], [k, j])->([i, j]) {i=4, j=5, k=8} reduction={k}"},
    {HLO_OP_dot, "a:8xf32 b:8xf32",
     "%r = stablehlo.dot %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>",
     "([i], [i])->([]) {i=8} reduction={i}"},
    {HLO_OP_dot, "a:8xf32 b:8x5xf32",
     "%r = stablehlo.dot %a, %b : (tensor<8xf32>, tensor<8x5xf32>) -> tensor<5xf32>",
     "([j], [j, i])->([i]) {i=5, j=8} reduction={j}"},
    {HLO_OP_einsum, "a:4x8xf32 b:8x5xf32",
     "%r = \"stablehlo.einsum\"(%a, %b) <{einsum_config = \"ab,bc->ac\"}> : (tensor<4x8xf32>, "
     "tensor<8x5xf32>) -> tensor<4x5xf32>",
     "([i, j], [j, k])->([i, k]) {i=4, j=8, k=5} reduction={j}"},
    {HLO_OP_unary_einsum, "a:4x8xf32",
     "%r = \"stablehlo.unary_einsum\"(%a) <{einsum_config = \"ab->b\"}> : (tensor<4x8xf32>) -> "
     "tensor<8xf32>",
     "([i, j])->([j]) {i=4, j=8} reduction={i}"},
    {HLO_OP_chlo_ragged_dot, "a:11x5xf32 b:3x5x7xf32 g:3xi64",
     "%r = \"chlo.ragged_dot\"(%a, %b, %g) {ragged_dot_dimension_numbers = "
     "#chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], "
     "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = "
     "[0], rhs_group_dimensions = [0]>} : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> "
     "tensor<11x7xf32>",
     "([i, k], [l, k, j], [m])->([i, j]) {i=11, j=7, k=5, l=3, m=3} reduction={k} "
     "need_replication={i, l, m}"},
    {HLO_OP_chlo_ragged_dot, "a:4x11xf32 b:11x7xf32 g:3xi64",
     "%r = \"chlo.ragged_dot\"(%a, %b, %g) {ragged_dot_dimension_numbers = "
     "#chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], "
     "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = "
     "[1], rhs_group_dimensions = []>} : (tensor<4x11xf32>, tensor<11x7xf32>, tensor<3xi64>) -> "
     "tensor<3x4x7xf32>",
     "([i, k], [k, j], [l])->([m, i, j]) {i=4, j=7, k=11, l=3, m=3} need_replication={k, l, m}"},
    {HLO_OP_hlo_scaled_dot, "a:4x96xf8E4M3FN b:5x96xf8E4M3FN s:4x3xf8E8M0FNU t:5x6xf8E8M0FNU",
     "%r = hlo.scaled_dot %a, %b, %s, %t, contracting_dims = [1] x [1] : (tensor<4x96xf8E4M3FN>, "
     "tensor<5x96xf8E4M3FN>, tensor<4x3xf8E8M0FNU>, tensor<5x6xf8E8M0FNU>) -> tensor<4x5xf32>",
     "([i, kl], [j, kl], [i, k], [j, km])->([i, j]) {i=4, j=5, k=3, l=32, m=2} reduction={k} "
     "need_replication={l, m}"},
    {HLO_OP_hlo_scaled_dot, "a:2x4x96xf8E4M3FN b:2x96x5xbf16 s:1x4x3xf8E8M0FNU t:f32",
     "%r = hlo.scaled_dot %a, %b, %s, %t, batching_dims = [0] x [0], contracting_dims = [2] x [1] "
     ": "
     "(tensor<2x4x96xf8E4M3FN>, tensor<2x96x5xbf16>, tensor<1x4x3xf8E8M0FNU>, tensor<f32>) -> "
     "tensor<2x4x5xf32>",
     "([i, j, lm], [i, lm, k], [n, j, l], [])->([i, j, k]) {i=2, j=4, k=5, l=3, m=32, n=1} "
     "reduction={l} need_replication={m}"},
    {HLO_OP_convolution, "a:2x8x8x3xf32 b:3x3x3x16xf32",
     "%r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
     "window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : "
     "i64} : (tensor<2x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<2x8x8x16xf32>",
     "([i, j, k, l], [n, o, l, m])->([i, j, k, m]) {i=2, j=8, k=8, l=3, m=16, n=3, o=3} "
     "reduction={l} need_replication={n, o} permutation={j, k}"},
    {HLO_OP_convolution, "a:2x8x6xf32 b:8x2x12xf32",
     "%r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} "
     "{batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<2x8x6xf32>, "
     "tensor<8x2x12xf32>) -> tensor<2x1x12xf32>",
     "([i, j, kl], [j, l, km])->([i, n, km]) {i=2, j=8, k=3, l=2, m=4, n=1} reduction={j, l}"},
    {HLO_OP_convolution, "a:6x8x4xf32 b:1x4x12xf32",
     "%r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} "
     "{batch_group_count = 3 : i64, feature_group_count = 1 : i64} : (tensor<6x8x4xf32>, "
     "tensor<1x4x12xf32>) -> tensor<2x8x12xf32>",
     "([ij, k, l], [n, l, im])->([j, k, im]) {i=3, j=2, k=8, l=4, m=4, n=1} reduction={l} "
     "permutation={k}"},
    {HLO_OP_reduce, "a:4x8x2xf32 z:f32",
     "%r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 2] : "
     "(tensor<4x8x2xf32>, tensor<f32>) -> tensor<8xf32>",
     "([i, j, k], [])->([j]) {i=4, j=8, k=2} reduction={i, k}"},
    {HLO_OP_reduce, "a:4x8xf32 b:4x8xi32 z:f32 i:i32",
     "%r:2 = stablehlo.reduce(%a init: %z), (%b init: %i) across dimensions = [1] : "
     "(tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, "
     "tensor<4xi32>)\n reducer(%p: tensor<f32>, %q: tensor<f32>) (%s: tensor<i32>, %t: "
     "tensor<i32>) {\nstablehlo.return %q, %t : tensor<f32>, tensor<i32>\n}",
     "([i, j], [i, j], [], [])->([i], [i]) {i=4, j=8} reduction={j}"},
    {HLO_OP_reduce_window, "a:4x8xf32 z:f32",
     "%r = \"stablehlo.reduce_window\"(%a, %z) <{window_dimensions = array<i64: 1, 2>, "
     "window_strides = array<i64: 1, 2>}> (" ADD
     ") : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x4xf32>",
     "([i, j], [])->([i, j]) {i=4, j=4} permutation={j}"},
    {HLO_OP_select_and_scatter, "a:4x8xf32 b:4x4xf32 z:f32",
     "%r = \"stablehlo.select_and_scatter\"(%a, %b, %z) <{window_dimensions = array<i64: 1, 2>, "
     "window_strides = array<i64: 1, 2>}> (" LESS ", " ADD
     ") : (tensor<4x8xf32>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x8xf32>",
     "([i, k], [i, j], [])->([i, k]) {i=4, j=4, k=8} need_replication={j} permutation={k}"},
    {HLO_OP_batch_norm_inference, "a:4x8x2xf32 b:8xf32",
     "%r = \"stablehlo.batch_norm_inference\"(%a, %b, %b, %b, %b) <{epsilon = 1.0 : f32, "
     "feature_index = 1 : i64}> : (tensor<4x8x2xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, "
     "tensor<8xf32>) -> tensor<4x8x2xf32>",
     "([i, j, k], [j], [j], [j], [j])->([i, j, k]) {i=4, j=8, k=2}"},
    {HLO_OP_batch_norm_training, "a:4x8xf32 b:8xf32",
     "%r:3 = \"stablehlo.batch_norm_training\"(%a, %b, %b) <{epsilon = 1.0 : f32, feature_index = "
     "1 : i64}> : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, "
     "tensor<8xf32>, tensor<8xf32>)",
     "([i, j], [j], [j])->([i, j], [j], [j]) {i=4, j=8} need_replication={i}"},
    {HLO_OP_batch_norm_grad, "a:4x8xf32 b:8xf32",
     "%r:3 = \"stablehlo.batch_norm_grad\"(%a, %b, %b, %b, %a) <{epsilon = 1.0 : f32, "
     "feature_index = 1 : i64}> : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, "
     "tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)",
     "([i, j], [j], [j], [j], [i, j])->([i, j], [j], [j]) {i=4, j=8} need_replication={i}"},
    {HLO_OP_sort, "a:4x8xf32",
     "%r = \"stablehlo.sort\"(%a) <{dimension = 1 : i64}> (" LESS
     ") : (tensor<4x8xf32>) -> tensor<4x8xf32>",
     "([i, j])->([i, j]) {i=4, j=8} need_replication={j}"},
    {HLO_OP_sort, "a:1x8xf32",
     "%r = \"stablehlo.sort\"(%a) <{dimension = 1 : i64}> (" LESS
     ") : (tensor<1x8xf32>) -> tensor<1x8xf32>",
     "([i, j])->([i, j]) {i=1, j=8} need_replication={j} blocked_propagation={j}"},
    {HLO_OP_chlo_top_k, "a:4x8xf32",
     "%r:2 = chlo.top_k(%a, k = 2) : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)",
     "([i, j])->([i, j], [i, j]) {i=4, j=8} need_replication={j} blocked_propagation={j}"},
    {HLO_OP_fft, "a:4x8x16xcomplex<f32>",
     "%r = stablehlo.fft %a, type = FFT, length = [8, 16] : (tensor<4x8x16xcomplex<f32>>) -> "
     "tensor<4x8x16xcomplex<f32>>",
     "([i, j, k])->([i, j, k]) {i=4, j=8, k=16} need_replication={j, k}"},
    {HLO_OP_fft, "a:4x16xf32",
     "%r = stablehlo.fft %a, type = RFFT, length = [16] : (tensor<4x16xf32>) -> "
     "tensor<4x9xcomplex<f32>>",
     "([i, j])->([i, j]) {i=4, j=16} need_replication={j} blocked_propagation={j}"},
    {HLO_OP_chlo_scan, "a:4x8xf32 z:8xf32",
     "%q, %r = chlo.scan (%a) inits (%z) dimension = 0 attributes {} {\n^bb0(%x: tensor<8xf32>, "
     "%y: tensor<8xf32>):\n%9 = stablehlo.add %x, %y : tensor<8xf32>\nstablehlo.return %9, %9 : "
     "tensor<8xf32>, tensor<8xf32>\n} : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, "
     "tensor<8xf32>)",
     "([i, j], [j])->([i, j], [j]) {i=4, j=8} need_replication={i}"},
    {HLO_OP_cholesky, "a:2x4x4xf32", "%r = stablehlo.cholesky %a, lower = true : tensor<2x4x4xf32>",
     "([i, j, k])->([i, j, k]) {i=2, j=4, k=4} need_replication={j, k}"},
    {HLO_OP_triangular_solve, "a:2x4x4xf32 b:2x4x3xf32",
     "%r = \"stablehlo.triangular_solve\"(%a, %b) <{left_side = true, lower = true, unit_diagonal "
     "= false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x4x4xf32>, "
     "tensor<2x4x3xf32>) -> tensor<2x4x3xf32>",
     "([i, j, l], [i, j, k])->([i, l, k]) {i=2, j=4, k=3, l=4} need_replication={j, k, l}"},
    {HLO_OP_triangular_solve, "a:2x4x4xf32 b:2x3x4xf32",
     "%r = \"stablehlo.triangular_solve\"(%a, %b) <{left_side = false, lower = true, unit_diagonal "
     "= false, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<2x4x4xf32>, "
     "tensor<2x3x4xf32>) -> tensor<2x3x4xf32>",
     "([i, k, l], [i, j, k])->([i, j, l]) {i=2, j=3, k=4, l=4} need_replication={j, k, l}"},
    {HLO_OP_rng_bit_generator, "a:2xui64",
     "%s, %r = stablehlo.rng_bit_generator %a, algorithm = THREE_FRY : (tensor<2xui64>) -> "
     "(tensor<2xui64>, tensor<4x8xui32>)",
     "([i])->([i], [j, k]) {i=2, j=4, k=8} need_replication={i} blocked_propagation={i}"},
    {HLO_OP_all_gather, "a:4x8xf32",
     "%r = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, "
     "1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x16xf32>",
     "([i, j])->([i, k]) {i=4, j=8, k=16} need_replication={j, k}"},
    {HLO_OP_all_reduce, "a:4x8xf32",
     "%r = \"stablehlo.all_reduce\"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> "
     "(" ADD ") : (tensor<4x8xf32>) -> tensor<4x8xf32>",
     "([i, j])->([i, j]) {i=4, j=8}"},
    {HLO_OP_all_to_all, "a:4x8x6xf32",
     "%r = \"stablehlo.all_to_all\"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, "
     "split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : "
     "(tensor<4x8x6xf32>) -> tensor<8x4x6xf32>",
     "([i, k, m])->([j, l, m]) {i=4, j=8, k=8, l=4, m=6} need_replication={i, j, k, l}"},
    {HLO_OP_reduce_scatter, "a:4x8xf32",
     "%r = \"stablehlo.reduce_scatter\"(%a) <{scatter_dimension = 1 : i64, replica_groups = "
     "dense<[[0, 1]]> : tensor<1x2xi64>}> (" ADD ") : (tensor<4x8xf32>) -> tensor<4x4xf32>",
     "([i, j])->([i, k]) {i=4, j=8, k=4} need_replication={j, k}"},
    {HLO_OP_collective_permute, "a:4x8xf32",
     "%r = \"stablehlo.collective_permute\"(%a) <{source_target_pairs = dense<[[0, 1]]> : "
     "tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>",
     "([i, j])->([i, j]) {i=4, j=8}"},
    {HLO_OP_collective_broadcast, "a:4x8xf32",
     "%r = \"stablehlo.collective_broadcast\"(%a) <{replica_groups = dense<[[0, 1]]> : "
     "tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>",
     "([i, j])->([i, j]) {i=4, j=8}"},
    {HLO_OP_collective_reduce, "a:4x8xf32",
     "%r = \"stablehlo.collective_reduce\"(%a) <{replica_groups = dense<[[0, 1]]> : "
     "tensor<1x2xi64>}> (" ADD ") : (tensor<4x8xf32>) -> tensor<4x8xf32>",
     "([i, j])->([i, j]) {i=4, j=8}"},
    {HLO_OP_cross_replica_sum, "a:4x8xf32",
     "%r = \"stablehlo.cross-replica-sum\"(%a) <{replica_groups = dense<[[0, 1]]> : "
     "tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>",
     "([i, j])->([i, j]) {i=4, j=8}"},
    {HLO_OP_hlo_ragged_all_to_all, "a:4x8xf32 b:6x8xf32 i:2xi64",
     "%r = \"hlo.ragged_all_to_all\"(%a, %b, %i, %i, %i, %i) {replica_groups = dense<[[0, 1]]> : "
     "tensor<1x2xi64>} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi64>, tensor<2xi64>, "
     "tensor<2xi64>, tensor<2xi64>) -> tensor<6x8xf32>",
     "([i, k], [j, k], [l], [m], [n], [o])->([j, k]) {i=4, j=6, k=8, l=2, m=2, n=2, o=2} "
     "need_replication={i, j, l, m, n, o}"},
    {HLO_OP_custom_call, "a:4x8xf32",
     "%r:2 = stablehlo.custom_call @mhlo.topk(%a) : (tensor<4x8xf32>) -> (tensor<4x2xf32>, "
     "tensor<4x2xi32>)",
     "([i, j])->([i, j], [i, j]) {i=4, j=8} need_replication={j} blocked_propagation={j}"},
    {HLO_OP_custom_call, "a:4x8xf32 i:4x8xi32 z:f32 j:i32",
     "%r:2 = stablehlo.custom_call @ApproxTopK(%a, %i, %z, %j) : (tensor<4x8xf32>, "
     "tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)",
     "([i, j], [i, j], [], [])->([i, k], [i, k]) {i=4, j=8, k=2} need_replication={j, k} "
     "blocked_propagation={k}"},
    {HLO_OP_custom_call, "a:4x8xf32 i:4x8xi32 z:f32 j:i32",
     "%r:2 = stablehlo.custom_call @ApproxTopK(%a, %i, %z, %j) {called_computations = [@main], "
     "mhlo.backend_config = {top_k = 8 : i64, reduction_dim = 1 : i64}} : (tensor<4x8xf32>, "
     "tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)",
     "([i, j], [i, j], [], [])->([i, k], [i, k]) {i=4, j=8, k=8} need_replication={j, k} "
     "blocked_propagation={k}"},
    {HLO_OP_custom_call, "a:4x8xf32 i:4x8xi32 z:f32 j:i32",
     "%r:2 = stablehlo.custom_call @ApproxTopK(%a, %i, %z, %j) {called_computations = [@main], "
     "mhlo.backend_config = {top_k = 2 : i64, reduction_dim = 1 : i64, is_fallback = true}} : "
     "(tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x2xf32>, "
     "tensor<4x2xi32>)",
     "([i, j], [i, j], [], [])->([i, j], [i, j]) {i=4, j=8} need_replication={j}"},
    {HLO_OP_custom_call, "a:2x4x4xf32",
     "%r:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) : (tensor<2x4x4xf32>) -> "
     "(tensor<2x4x4xf32>, tensor<2xi32>)",
     "([i, j, k])->([i, l, m], [i]) {i=2, j=4, k=4, l=4, m=4} need_replication={j, k, l, m}"},
    {HLO_OP_custom_call, "a:2x4xf32 b:2x4x3xf32",
     "%r:5 = stablehlo.custom_call @lapack_sgtsv_ffi(%a, %a, %a, %b) : (tensor<2x4xf32>, "
     "tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, "
     "tensor<2x4xf32>, tensor<2x4x3xf32>, tensor<2xi32>)",
     "([i, j], [i, k], [i, l], [i, m, n])->([i, o], [i, p], [i, q], [i, r, s], [i]) {i=2, j=4, "
     "k=4, l=4, m=4, n=3, o=4, p=4, q=4, r=4, s=3} need_replication={j, k, l, m, n, o, p, q, r, "
     "s}"},
    {HLO_OP_custom_call, "a:4x8xf32",
     "%r = stablehlo.custom_call @MoveToHost(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>",
     "([i, j])->([i, j]) {i=4, j=8}"},
    {HLO_OP_custom_call, "a:4x8xf32",
     "%r = stablehlo.custom_call @mhlo.erf(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>",
     "([i, j])->([i, j]) {i=4, j=8}"},
    {HLO_OP_custom_call, "a:4x8xf32",
     "%r = stablehlo.custom_call @theirs(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>", "none"},
    {HLO_OP_custom_call, "a:4x6xf32",
     "%r = stablehlo.custom_call @theirs(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, "
     "jk])->([k, i]) {i=4, j=2, k=3} reduction={j} need_replication={k} blocked_propagation={i}, "
     "custom>} : (tensor<4x6xf32>) -> tensor<3x4xf32>",
     "([i, jk])->([k, i]) {i=4, j=2, k=3} reduction={j} need_replication={k} "
     "blocked_propagation={i}"},
    {HLO_OP_custom_call, "a:f32",
     "%r = stablehlo.custom_call @theirs(%a) {mhlo.sharding_rule = "
     "#sdy.op_sharding_rule<([])->([i]) {i=4}, custom>} : (tensor<f32>) -> tensor<4xf32>",
     "([])->([i]) {i=4}"},
    {HLO_OP_hlo_stochastic_convert, "a:4x8xf32 b:4x8xui32",
     "%r = \"hlo.stochastic_convert\"(%a, %b) : (tensor<4x8xf32>, tensor<4x8xui32>) -> "
     "tensor<4x8xbf16>",
     "([i, j], [i, j])->([i, j]) {i=4, j=8}"},
    {HLO_OP_iota, "", "%r = stablehlo.iota dim = 0 : tensor<4x8xf32>", "none"},
    {HLO_OP_get_dimension_size, "a:4x8xf32",
     "%r = stablehlo.get_dimension_size %a, dim = 0 : (tensor<4x8xf32>) -> tensor<i32>", "none"},
    {HLO_OP_negate, "a:f32", "%r = stablehlo.negate %a : tensor<f32>", "none"},
    {HLO_OP_negate, "a:0x4xf32", "%r = stablehlo.negate %a : tensor<0x4xf32>",
     "([i, j])->([i, j]) {i=0, j=4}"},
    {HLO_OP_reverse, "a:0x4xf32", "%r = stablehlo.reverse %a, dims = [1] : tensor<0x4xf32>",
     "none"},
    {HLO_OP_negate, "a:?x4xf32", "%r = stablehlo.negate %a : tensor<?x4xf32>", "none"},
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

static hlo_module_t* make_module(const rule_case_t* c) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_puts(&text, "sdy.mesh @mesh = <[\"x\"=2]>\nfunc.func @main(");
  for (const char* at = c->arguments; *at;) {
    const int name = (int)strcspn(at, ":"), all = (int)strcspn(at, " ");
    hlo_strbuf_printf(&text, "%s%%%.*s: tensor<%.*s>", at == c->arguments ? "" : ", ", name, at,
                      all - name - 1, at + name + 1);
    at += all + (at[all] == ' ');
  }
  hlo_strbuf_printf(&text, ") {\n%s\nreturn\n}\n", c->body);
  hlo_test_check(hlo_strbuf_status(&text));
  return hlo_test_parse(hlo_strbuf_text(&text));
}

static const hlo_node_t* last_of(const hlo_module_t* module, hlo_op_t op) {
  const hlo_node_t* node = hlo_module_entry(module)->body->last;
  while (node->op != op) node = node->prev;
  return node;
}

static void test_rules(void** state) {
  (void)state;
  for (uint32_t i = 0; i < CASE_COUNT; ++i) {
    HLO_SCOPED_ARENA arena = {0};
    HLO_SCOPED_STRBUF text = {0};
    const hlo_sharding_rule_t* rule = NULL;
    hlo_module_t* module = make_module(&cases[i]);
    const hlo_node_t* node = last_of(module, cases[i].op);
    hlo_test_check(hlo_sharding_rule_make(node, &arena, &rule));
    hlo_strbuf_puts(&text, rule ? "" : "none");
    if (rule) hlo_sharding_rule_print(rule, node, &text);
    if (strcmp(hlo_strbuf_text(&text), cases[i].rule) != 0) {
      fail_msg("%s\nexpected %s\nbut is   %s", cases[i].body, cases[i].rule,
               hlo_strbuf_text(&text));
    }
    hlo_module_release(module);
  }
}

// Ops with a function of their own have a case here; the others are elementwise.
static void test_all_ops(void** state) {
  (void)state;
  static const struct {
    hlo_op_t op;
    const char* function;
  } rows[] = {
#define HLO_SHARDING_RULE(op, function) {HLO_OP_##op, #function},
#define HLO_NO_SHARDING_RULE(op)
#include "spmd/rules.def"
#undef HLO_SHARDING_RULE
#undef HLO_NO_SHARDING_RULE
  };
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
    bool is_tested = strcmp(rows[r].function, "elementwise") == 0 ||
                     strcmp(rows[r].function, "broadcast_operands") == 0;
    for (uint32_t i = 0; i < CASE_COUNT; ++i) is_tested = is_tested || cases[i].op == rows[r].op;
    if (!is_tested) fail_msg("no case of %s", hlo_op_info(rows[r].op)->name);
  }
}

// A rule of a call that does not fit it is the fault of the program.
static void test_errors(void** state) {
  (void)state;
  static const char* const rules[] = {
      "<([i])->([i]) {i=4}>",                                // too few dimensions
      "<([i, j], [i])->([i, j]) {i=4, j=8}>",                // too many operands
      "<([i, j])->([i, j]) {i=4}>",                          // a factor without a size
      "<([i, j])->([i, j]) {i=4, k=8}>",                     // sizes out of order
      "<([i, j])->([i, j]) {i=4, j=0}>",                     // no size
      "<([i, j])->([i, j]) {i=4, j=99999999999999999999}>",  // too large
      "<([i, j])->([i, j]) {i=4, j=8} reduction={k}>",       // unknown factor
      "<([i, j])->([i, j]) {i=4, j=8} special={i}>",         // unknown kind
      "<([i, j])->([i, j]) {i=4, j=8}, ours>",               // not "custom"
      "<([i, j])->([i, j])",                                 // no end
      "<([i, j]) {i=4, j=8}>",                               // no results
      "<([i, z_9])->([i, z_9]) {i=4, j=8}>",                 // unknown factor
  };
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; ++i) {
    HLO_SCOPED_ARENA arena = {0};
    const hlo_sharding_rule_t* rule = NULL;
    const rule_case_t c = {HLO_OP_custom_call, "a:4x8xf32",
                           "%r = stablehlo.custom_call @f(%a) : (tensor<4x8xf32>) -> "
                           "tensor<4x8xf32>",
                           ""};
    hlo_module_t* module = make_module(&c);
    hlo_node_t* node = (hlo_node_t*)last_of(module, c.op);
    HLO_SCOPED_STRBUF text = {0};
    hlo_strbuf_printf(&text, "#sdy.op_sharding_rule%s", rules[i]);
    node->extra = hlo_attr_dict_with(module, NULL, "sdy.sharding_rule",
                                     hlo_attr_opaque(module, hlo_strbuf_text(&text), text.length));
    hlo_status_t status = hlo_sharding_rule_make(node, &arena, &rule);
    if (hlo_status_code(status) != HLO_STATUS_INVALID_ARGUMENT) fail_msg("accepts %s", rules[i]);
    assert_null(rule);
    hlo_status_release(status);
    hlo_module_release(module);
  }
}

static void test_memory_failures(void** state) {
  (void)state;
  for (uint32_t i = 0; i < CASE_COUNT; i += 7) {
    hlo_module_t* module = make_module(&cases[i]);
    bool is_done = false;
    for (uint64_t n = 1; !is_done; ++n) {
      HLO_SCOPED_ARENA arena = {0};
      const hlo_sharding_rule_t* rule = NULL;
      hlo_mem_fail_nth(n);
      hlo_status_t status = hlo_sharding_rule_make(last_of(module, cases[i].op), &arena, &rule);
      is_done = !hlo_mem_failed();
      hlo_mem_fail_nth(0);
      assert_int_equal(hlo_status_code(status),
                       is_done ? HLO_STATUS_OK : HLO_STATUS_RESOURCE_EXHAUSTED);
      hlo_status_release(status);
    }
    hlo_module_release(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rules),
      cmocka_unit_test(test_all_ops),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_memory_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
