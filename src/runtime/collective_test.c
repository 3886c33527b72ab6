// SPDX-License-Identifier: Apache-2.0
// Programs with collectives on eight devices: every executor gives the interpreter's results, in
// straight code, in loops and in branches.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/recording.h"
#include "base/test_util.h"
#include "compiler/execute.h"
#include "runtime/executable.h"
#include "runtime/group.h"

enum { DEVICES = 8, ROWS = 8, COLUMNS = 24, TEXT_BYTES = 8192 };

// ---- programs ----------------------------------------------------------------------------------

// $T: the element type; $X, $S: tensors of 8x24 and of one element; $G: all devices in one group,
// $H: two groups of four; $Q: a quantized type.
#define HEAD "func.func @main(%x: $X) -> "
#define ADD                                                        \
  "({\n ^bb0(%a: $S, %b: $S):\n  %s = stablehlo.add %a, %b : $S\n" \
  "  stablehlo.return %s : $S\n })"
// Not commutative: a where a >= b, else a - b.
#define SELECT                                                                                   \
  "{\n ^bb0(%a: $S, %b: $S):\n  %c = stablehlo.compare GE, %a, %b : ($S, $S) -> tensor<i1>\n"    \
  "  %d = stablehlo.subtract %a, %b : $S\n  %s = stablehlo.select %c, %a, %d : tensor<i1>, $S\n" \
  "  stablehlo.return %s : $S\n }"
#define SUM(out, in, groups)                                                       \
  "  " out " = \"stablehlo.all_reduce\"(" in ") " ADD " {replica_groups = " groups \
  "} : ($X) -> $X\n"

typedef struct program {
  const char* name;
  const char* text;
} program_t;

static const program_t kPrograms[] = {
    {"all_reduce", HEAD "$X {\n" SUM("%y", "%x", "$G") "  return %y : $X\n}\n"},
    {"all_reduce of groups", HEAD "$X {\n" SUM("%y", "%x", "$H") "  return %y : $X\n}\n"},
    {"all_reduce of what is made and used again",
     HEAD "$X {\n  %0 = stablehlo.add %x, %x : $X\n" SUM(
         "%1", "%0",
         "$G") "  %2 = stablehlo.multiply %1, %0 : $X\n" SUM("%3", "%2",
                                                             "$H") "  %4 = stablehlo.add %3, %x : "
                                                                   "$X\n  return %4 : $X\n}\n"},
    {"all_reduce of several",
     HEAD "($X, $X) {\n  %y = stablehlo.multiply %x, %x : $X\n"
          "  %0:2 = \"stablehlo.all_reduce\"(%x, %y) ({\n ^bb0(%a: $S, %b: $S):\n"
          "  %s = stablehlo.maximum %a, %b : $S\n  stablehlo.return %s : $S\n })"
          " {replica_groups = $G} : ($X, $X) -> ($X, $X)\n  return %0#0, %0#1 : $X, $X\n}\n"},
    {"groups of replicas of different sizes, by a computation",
     HEAD "($X, $X) {\n  %y = stablehlo.multiply %x, %x : $X\n"
          "  %0:2 = \"stablehlo.all_reduce\"(%x, %y) (" SELECT
          ") {replica_groups = dense<[[7, 5, 2, 0], [1, 4, 3, -1], [6, -1, -1, -1]]> : "
          "tensor<3x4xi64>} : ($X, $X) -> ($X, $X)\n  return %0#0, %0#1 : $X, $X\n}\n"},
    {"all_reduce of products",
     HEAD "$X {\n  %y = \"stablehlo.all_reduce\"(%x) ({\n ^bb0(%a: $S, %b: $S):\n"
          "  %s = stablehlo.multiply %a, %b : $S\n  stablehlo.return %s : $S\n })"
          " {replica_groups = $G} : ($X) -> $X\n  return %y : $X\n}\n"},
    {"all_reduce by a computation", HEAD
     "$X {\n  %0 = \"stablehlo.all_reduce\"(%x) ({\n ^bb0(%a: $S, %b: $S):\n"
     "  %m = stablehlo.maximum %a, %b : $S\n  %s = stablehlo.add %m, %b : $S\n"
     "  stablehlo.return %s : $S\n }) {replica_groups = $H} : ($X) -> $X\n  return %0 : $X\n}\n"},
    {"all_reduce by a computation of two arguments in the other order",
     HEAD "$X {\n  %0 = \"stablehlo.all_reduce\"(%x) ({\n ^bb0(%a: $S, %b: $S):\n"
          "  %s = stablehlo.add %b, %a : $S\n  stablehlo.return %s : $S\n })"
          " {replica_groups = $H} : ($X) -> $X\n  return %0 : $X\n}\n"},
    {"all_reduce by a difference",
     HEAD "$X {\n  %0 = \"stablehlo.all_reduce\"(%x) ({\n ^bb0(%a: $S, %b: $S):\n"
          "  %s = stablehlo.subtract %b, %a : $S\n  stablehlo.return %s : $S\n })"
          " {replica_groups = $G} : ($X) -> $X\n  return %0 : $X\n}\n"},
    {"all_reduce of several by a computation, all processes in one group",
     HEAD "($X, tensor<3x$T>) {\n  %k = stablehlo.constant dense<2> : tensor<3x$T>\n"
          "  %0:2 = \"stablehlo.all_reduce\"(%x, %k) (" SELECT
          ") {replica_groups = dense<> : tensor<0x0xi64>} : ($X, tensor<3x$T>) -> ($X, "
          "tensor<3x$T>)\n  return %0#0, %0#1 : $X, tensor<3x$T>\n}\n"},
    {"all_reduce by a loop",
     HEAD "$X {\n  %n = stablehlo.constant dense<2> : tensor<i32>\n"
          "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
          "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
          "  %0 = \"stablehlo.all_reduce\"(%x) ({\n ^bb0(%a: $S, %b: $S):\n"
          "  %r:2 = stablehlo.while(%v = %a, %i = %zero) : $S, tensor<i32>\n   cond {\n"
          "    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
          "    stablehlo.return %c : tensor<i1>\n  } do {\n    %w = stablehlo.add %v, %b : $S\n"
          "    %j = stablehlo.add %i, %one : tensor<i32>\n"
          "    stablehlo.return %w, %j : $S, tensor<i32>\n  }\n  stablehlo.return %r#0 : $S\n })"
          " {replica_groups = $H} : ($X) -> $X\n  return %0 : $X\n}\n"},
    {"reduce_scatter of rows by a computation",
     HEAD "tensor<1x24x$T> {\n  %0 = \"stablehlo.reduce_scatter\"(%x) (" SELECT
          ") {scatter_dimension = 0 : i64, replica_groups = $G} : ($X) -> tensor<1x24x$T>\n"
          "  return %0 : tensor<1x24x$T>\n}\n"},
    {"reduce_scatter of columns by a computation",
     HEAD "tensor<8x6x$T> {\n  %0 = \"stablehlo.reduce_scatter\"(%x) (" SELECT
          ") {scatter_dimension = 1 : i64, replica_groups = $H} : ($X) -> tensor<8x6x$T>\n"
          "  return %0 : tensor<8x6x$T>\n}\n"},
    {"collective_reduce", HEAD "$X {\n  %0 = \"stablehlo.collective_reduce\"(%x) " ADD
                               " {replica_groups = $H} : ($X) -> $X\n  return %0 : $X\n}\n"},
    {"all_gather of rows",
     HEAD "tensor<64x24x$T> {\n  %0 = \"stablehlo.all_gather\"(%x) {all_gather_dim = 0 : i64, "
          "replica_groups = $G} : ($X) -> tensor<64x24x$T>\n  return %0 : tensor<64x24x$T>\n}\n"},
    {"all_gather of columns",
     HEAD "tensor<8x96x$T> {\n  %0 = \"stablehlo.all_gather\"(%x) {all_gather_dim = 1 : i64, "
          "replica_groups = $H} : ($X) -> tensor<8x96x$T>\n  return %0 : tensor<8x96x$T>\n}\n"},
    {"reduce_scatter of rows",
     HEAD "tensor<1x24x$T> {\n  %0 = \"stablehlo.reduce_scatter\"(%x) " ADD
          " {scatter_dimension = 0 : i64, replica_groups = $G} : ($X) -> tensor<1x24x$T>\n"
          "  return %0 : tensor<1x24x$T>\n}\n"},
    {"reduce_scatter of columns",
     HEAD "tensor<8x6x$T> {\n  %0 = \"stablehlo.reduce_scatter\"(%x) " ADD
          " {scatter_dimension = 1 : i64, replica_groups = $H} : ($X) -> tensor<8x6x$T>\n"
          "  return %0 : tensor<8x6x$T>\n}\n"},
    {"all_to_all",
     HEAD "tensor<1x192x$T> {\n  %0 = \"stablehlo.all_to_all\"(%x) {split_dimension = 0 : i64, "
          "concat_dimension = 1 : i64, split_count = 8 : i64, replica_groups = $G} : ($X) -> "
          "tensor<1x192x$T>\n  return %0 : tensor<1x192x$T>\n}\n"},
    {"all_to_all in place",
     HEAD "$X {\n  %0 = \"stablehlo.all_to_all\"(%x) {split_dimension = 1 : i64, "
          "concat_dimension = 1 : i64, split_count = 4 : i64, replica_groups = $H} : ($X) -> $X\n"
          "  return %0 : $X\n}\n"},
    {"collective_permute",
     HEAD "$X {\n  %0 = \"stablehlo.collective_permute\"(%x) {source_target_pairs = "
          "dense<[[0, 1], [1, 2], [2, 0], [5, 3], [7, 7]]> : tensor<5x2xi64>} : ($X) -> $X\n"
          "  return %0 : $X\n}\n"},
    {"collective_permute of several, in a chain",
     HEAD "($X, tensor<3xi32>, $X) {\n  %i = stablehlo.replica_id : tensor<ui32>\n"
          "  %j = stablehlo.convert %i : (tensor<ui32>) -> tensor<i32>\n"
          "  %b = stablehlo.broadcast_in_dim %j, dims = [] : (tensor<i32>) -> tensor<3xi32>\n"
          "  %y = stablehlo.add %x, %x : $X\n"
          "  %0:3 = \"stablehlo.collective_permute\"(%x, %b, %y) {source_target_pairs = "
          "dense<[[0, 1], [1, 2], [2, 0], [5, 3], [7, 7]]> : tensor<5x2xi64>} : "
          "($X, tensor<3xi32>, $X) -> ($X, tensor<3xi32>, $X)\n"
          "  %1:2 = \"stablehlo.collective_permute\"(%0#2, %0#0) {source_target_pairs = "
          "dense<[[0, 7], [3, 0]]> : tensor<2x2xi64>} : ($X, $X) -> ($X, $X)\n"
          "  %2 = stablehlo.add %1#0, %1#1 : $X\n"
          "  return %2, %0#1, %0#0 : $X, tensor<3xi32>, $X\n}\n"},
    {"collective_broadcast",
     HEAD "$X {\n  %0 = \"stablehlo.collective_broadcast\"(%x) {replica_groups = "
          "dense<[[3, 1, 2, 0], [6, 7, 5, 4]]> : tensor<2x4xi64>} : ($X) -> $X\n"
          "  return %0 : $X\n}\n"},
    {"collective_broadcast to some",
     HEAD "$X {\n  %0 = \"stablehlo.collective_broadcast\"(%x) {replica_groups = "
          "dense<[[3, 1, 2], [6, 7, 5]]> : tensor<2x3xi64>} : ($X) -> $X\n  return %0 : $X\n}\n"},
    {"cross-replica-sum",
     HEAD "$X {\n  %0 = \"stablehlo.cross-replica-sum\"(%x) {replica_groups = $H} : ($X) -> $X\n"
          "  return %0 : $X\n}\n"},
    {"send and recv", HEAD
     "$X {\n  %t = stablehlo.after_all : !stablehlo.token\n"
     "  %u = \"stablehlo.send\"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 3, "
     "type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0], [2, 5]]> "
     ": tensor<3x2xi64>} : ($X, !stablehlo.token) -> !stablehlo.token\n"
     "  %r:2 = \"stablehlo.recv\"(%u) {channel_handle = #stablehlo.channel_handle<handle = 3, "
     "type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0], [2, 5]]> "
     ": tensor<3x2xi64>} : (!stablehlo.token) -> ($X, !stablehlo.token)\n"
     "  return %r#0 : $X\n}\n"},
    // Started together and awaited one after the other, with other work and a loop in between.
    {"asynchronous pairs", HEAD
     "($X, $X) {\n  %0 = stablehlo.add %x, %x : $X\n"
     "  %f = \"stablehlo.async_start\"(%0) ({\n ^bb0(%arg: $X):\n" SUM(
         "%r", "%arg",
         "$G") "    stablehlo.return %r : $X\n  }) : ($X) -> !stablehlo.future<$X>\n"
               "  %g = \"stablehlo.async_start\"(%x) ({\n ^bb0(%arg: $X):\n    %r = "
               "\"stablehlo.collective_permute\"(%arg) {source_target_pairs = dense<[[0, 7], [7, "
               "1]]> : "
               "tensor<2x2xi64>} : ($X) -> $X\n    stablehlo.return %r : $X\n"
               "  }) : ($X) -> !stablehlo.future<$X>\n"
               "  %n = stablehlo.constant dense<3> : tensor<i32>\n"
               "  %i0 = stablehlo.constant dense<0> : tensor<i32>\n"
               "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
               "  %w:2 = stablehlo.while(%v = %x, %i = %i0) : $X, tensor<i32>\n   cond {\n"
               "    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
               "    stablehlo.return %c : tensor<i1>\n  } do {\n" SUM(
                   "%p", "%v",
                   "$H") "    %q = stablehlo.subtract %p, %v : $X\n    %j = stablehlo.add %i, %one "
                         ": tensor<i32>\n"
                         "    stablehlo.return %q, %j : $X, tensor<i32>\n  }\n"
                         "  %1 = \"stablehlo.async_done\"(%f) : (!stablehlo.future<$X>) -> $X\n"
                         "  %2 = stablehlo.add %1, %w#0 : $X\n"
                         "  %3 = \"stablehlo.async_done\"(%g) : (!stablehlo.future<$X>) -> $X\n"
                         "  return %2, %3 : $X, $X\n}\n"},
    // Small independent collectives, and one that reads another's result.
    {"many sums",
     HEAD "($X, $X, $X) {\n" SUM("%0", "%x", "$G") "  %1 = stablehlo.multiply %x, %x : $X\n" SUM(
         "%2", "%1",
         "$H") "  %3 = stablehlo.add %1, %x : $X\n" SUM("%4", "%3",
                                                        "$G") "  %5 = stablehlo.add %2, %4 : "
                                                              "$X\n" SUM("%6", "%5", "$G")
                                                                  SUM("%7", "%1",
                                                                      "$H") "  %8 = "
                                                                            "stablehlo.subtract "
                                                                            "%0, %7 : $X\n  return "
                                                                            "%6, %8, %1 : $X, $X, "
                                                                            "$X\n}\n"},
    {"a loop",
     HEAD "($X, tensor<i32>) {\n  %n = stablehlo.constant dense<5> : tensor<i32>\n"
          "  %i0 = stablehlo.constant dense<0> : tensor<i32>\n"
          "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
          "  %r:2 = stablehlo.while(%v = %x, %i = %i0) : $X, tensor<i32>\n   cond {\n"
          "    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
          "    stablehlo.return %c : tensor<i1>\n  } do {\n" SUM(
              "%p", "%v", "$H") "    %q = stablehlo.subtract %p, %x : $X\n    %j = stablehlo.add "
                                "%i, %one : tensor<i32>\n"
                                "    stablehlo.return %q, %j : $X, tensor<i32>\n  }\n  return "
                                "%r#0, %r#1 : $X, tensor<i32>\n}\n"},
    // The trip count is exchanged too; both the condition and the body wait.
    {"a condition that waits", HEAD
     "($X, tensor<i32>) {\n  %n = stablehlo.constant dense<60> : tensor<i32>\n"
     "  %id = stablehlo.replica_id : tensor<ui32>\n"
     "  %i0 = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>\n"
     "  %r:2 = stablehlo.while(%v = %x, %i = %i0) : $X, tensor<i32>\n   cond {\n"
     "    %m = \"stablehlo.all_reduce\"(%i) ({\n   ^bb0(%a: tensor<i32>, %b: tensor<i32>):\n"
     "      %s = stablehlo.maximum %a, %b : tensor<i32>\n      stablehlo.return %s : tensor<i32>\n"
     "    }) {replica_groups = $G} : (tensor<i32>) -> tensor<i32>\n"
     "    %c = stablehlo.compare LT, %m, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
     "    stablehlo.return %c : tensor<i1>\n  } do {\n"
     "    %w = \"stablehlo.collective_permute\"(%v) {source_target_pairs = dense<[[0, 1], [1, 2], "
     "[2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]> : tensor<8x2xi64>} : ($X) -> $X\n"
     "    %j = stablehlo.add %i, %i : tensor<i32>\n    %k = stablehlo.add %j, %i0 : tensor<i32>\n"
     "    stablehlo.return %w, %k : $X, tensor<i32>\n  }\n  return %r#0, %r#1 : $X, "
     "tensor<i32>\n}\n"},
    // The groups take different branches; in one of them a loop in the branch of a loop waits.
    {"branches",
     HEAD "$X {\n  %id = stablehlo.replica_id : tensor<ui32>\n"
          "  %u0 = stablehlo.constant dense<0> : tensor<ui32>\n"
          "  %u1 = stablehlo.constant dense<1> : tensor<ui32>\n"
          "  %bit = stablehlo.and %id, %u1 : tensor<ui32>\n"
          "  %n = stablehlo.constant dense<3> : tensor<i32>\n"
          "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
          "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
          "  %even = stablehlo.compare EQ, %bit, %u0 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>\n"
          "  %o:2 = stablehlo.while(%v = %x, %i = %zero) : $X, tensor<i32>\n   cond {\n"
          "    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
          "    stablehlo.return %c : tensor<i1>\n  } do {\n"
          "    %y = \"stablehlo.if\"(%even) ({\n" SUM(
              "%p", "%v",
              "$H") "      %z = stablehlo.subtract %p, %v : $X\n      stablehlo.return %z : $X\n   "
                    " }, {\n"
                    "      %q:2 = stablehlo.while(%w = %v, %k = %zero) : $X, tensor<i32>\n       "
                    "cond {\n"
                    "        %d = stablehlo.compare LT, %k, %i : (tensor<i32>, tensor<i32>) -> "
                    "tensor<i1>\n"
                    "        stablehlo.return %d : tensor<i1>\n      } do {\n" SUM(
                        "%e", "%w",
                        "$H") "        %f = stablehlo.subtract %e, %x : $X\n        %l = "
                              "stablehlo.add %k, %one : tensor<i32>\n"
                              "        stablehlo.return %f, %l : $X, tensor<i32>\n      }\n"
                              "      stablehlo.return %q#0 : $X\n    }) : (tensor<i1>) -> $X\n"
                              "    %j = stablehlo.add %i, %one : tensor<i32>\n    stablehlo.return "
                              "%y, %j : $X, tensor<i32>\n"
                              "  }\n" SUM("%t", "%o#0", "$G") "  return %t : $X\n}\n"},
};
enum { PROGRAM_COUNT = sizeof kPrograms / sizeof *kPrograms };

// Programs of eight partitions, as partitioners and shard_map make them.
#define CHANNEL "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
#define AXES(list) "#stablehlo.replica_group_mesh_axes<mesh = @m, axes = [" list "]>"
#define AXIS(name) "#stablehlo.axis_ref<name = \"" name "\">"
static const program_t kPartitionPrograms[] = {
    {"all_reduce over an axis",
     "sdy.mesh @m = <[\"x\"=2, \"y\"=4]>\n" HEAD "$X {\n  %y = \"stablehlo.all_reduce\"(%x) " ADD
     " {replica_groups = " AXES(AXIS("y")) ", use_global_device_ids, " CHANNEL
                                           "} : ($X) -> $X\n  return %y : $X\n}\n"},
    {"all_gather over axes in another order",
     "sdy.mesh @m = <[\"x\"=2, \"y\"=4], device_ids=[7, 6, 5, 4, 0, 1, 2, 3]>\n" HEAD
     "tensor<64x24x$T> {\n  %0 = \"stablehlo.all_gather\"(%x) {all_gather_dim = 0 : i64, "
     "use_global_device_ids, replica_groups = " AXES(AXIS("y") ", " AXIS(
         "x")) ", " CHANNEL "} : ($X) -> tensor<64x24x$T>\n  return %0 : tensor<64x24x$T>\n}\n"},
    {"reduce_scatter over a part of an axis",
     "sdy.mesh @m = <[\"x\"=8]>\n" HEAD
     "tensor<4x24x$T> {\n  %0 = \"stablehlo.reduce_scatter\"(%x) " ADD
     " {scatter_dimension = 0 : i64, use_global_device_ids, replica_groups = " AXES(
         "#stablehlo.axis_ref<name = \"x\", sub_axis_info = (2)2>") ", " CHANNEL
                                                                    "} : ($X) -> tensor<4x24x$T>\n "
                                                                    " return %0 : "
                                                                    "tensor<4x24x$T>\n}\n"},
    {"groups of different sizes, by a computation",
     HEAD "$X {\n  %y = \"stablehlo.all_reduce\"(%x) (" SELECT
          ") {replica_groups = dense<[[0, 5, 2], [1, 4, 3], [6, 7, -1]]> : tensor<3x3xi64>, "
          "use_global_device_ids, " CHANNEL "} : ($X) -> $X\n  return %y : $X\n}\n"},
    {"reduce_scatter by a computation, in one group of another order",
     HEAD "tensor<8x3x$T> {\n  %0 = \"stablehlo.reduce_scatter\"(%x) (" SELECT
          ") {scatter_dimension = 1 : i64, replica_groups = dense<[[6, 0, 2, 4, 7, 1, 5, 3]]> : "
          "tensor<1x8xi64>, use_global_device_ids, " CHANNEL "} : ($X) -> tensor<8x3x$T>\n"
          "  return %0 : tensor<8x3x$T>\n}\n"},
    {"all_reduce in a wider type",
     HEAD "($X, tensor<8x24xf32>) {\n  %h = stablehlo.convert %x : ($X) -> tensor<8x24xbf16>\n"
          "  %0 = \"stablehlo.all_reduce\"(%h) ({\n ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
          "  %s = stablehlo.add %a, %b : tensor<f32>\n  stablehlo.return %s : tensor<f32>\n })"
          " {replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, "
          "use_global_device_ids, " CHANNEL "} : (tensor<8x24xbf16>) -> tensor<8x24xf32>\n"
          "  return %x, %0 : $X, tensor<8x24xf32>\n}\n"},
    {"all_to_all", HEAD
     "$X {\n  %0 = \"stablehlo.all_to_all\"(%x) {split_dimension = 1 : i64, concat_dimension = 1 "
     ": i64, split_count = 4 : i64, replica_groups = $H, " CHANNEL "} : ($X) -> $X\n"
     "  return %0 : $X\n}\n"},
    {"collective_permute of several and partition_id", HEAD
     "($X, tensor<ui32>) {\n  %p = stablehlo.partition_id : tensor<ui32>\n"
     "  %0:2 = \"stablehlo.collective_permute\"(%x, %p) {source_target_pairs = dense<[[0, 1], [1, "
     "2], [2, 0], [5, 3], [7, 7]]> : tensor<5x2xi64>, " CHANNEL
     "} : ($X, tensor<ui32>) -> ($X, tensor<ui32>)\n  return %0#0, %0#1 : $X, tensor<ui32>\n}\n"},
    {"collective_broadcast",
     HEAD "$X {\n  %0 = \"stablehlo.collective_broadcast\"(%x) {replica_groups = "
          "dense<[[3, 1, 2, 0], [6, 7, 5, 4]]> : tensor<2x4xi64>, " CHANNEL "} : ($X) -> $X\n"
          "  return %0 : $X\n}\n"},
    {"all_reduce over replicas and partitions",
     HEAD "$X {\n  %y = \"stablehlo.all_reduce\"(%x) " ADD
          " {replica_groups = dense<0> : tensor<1x1xi64>, " CHANNEL "} : ($X) -> $X\n"
          "  return %y : $X\n}\n"},
    {"all_reduce over replicas alone",
     HEAD "$X {\n  %y = \"stablehlo.all_reduce\"(%x) " ADD
          " {replica_groups = dense<0> : tensor<1x1xi64>} : ($X) -> $X\n  return %y : $X\n}\n"},
    {"groups of different sizes",
     HEAD "$X {\n  %y = \"stablehlo.all_reduce\"(%x) " ADD
          " {replica_groups = dense<[[0, 5, 2], [1, 4, 3], [6, 7, -1]]> : tensor<3x3xi64>, "
          "use_global_device_ids, " CHANNEL "} : ($X) -> $X\n  return %y : $X\n}\n"},
    {"collective_broadcast of two, from roots that each process names", HEAD
     "($X, $X) {\n  %p = stablehlo.partition_id : tensor<ui32>\n"
     "  %four = stablehlo.constant dense<4> : tensor<ui32>\n"
     "  %a = stablehlo.remainder %p, %four : tensor<ui32>\n"
     "  %b = stablehlo.divide %p, %four : tensor<ui32>\n"
     "  %c = stablehlo.reshape %a : (tensor<ui32>) -> tensor<1xui32>\n"
     "  %d = stablehlo.reshape %b : (tensor<ui32>) -> tensor<1xui32>\n"
     "  %e = stablehlo.concatenate %c, %d, dim = 0 : (tensor<1xui32>, tensor<1xui32>) -> "
     "tensor<2xui32>\n  %y = stablehlo.add %x, %x : $X\n"
     "  %0:2 = \"stablehlo.collective_broadcast\"(%x, %y, %e) {has_dynamic_root, replica_groups = "
     "dense<[[3, 1, 2, 0], [6, 7, 5, 4]]> : tensor<2x4xi64>, " CHANNEL
     "} : ($X, $X, tensor<2xui32>) -> ($X, $X)\n  return %0#0, %0#1 : $X, $X\n}\n"},
    {"collective_reduce in groups of different sizes",
     HEAD "$X {\n  %0 = \"stablehlo.collective_reduce\"(%x) (" SELECT
          ") {replica_groups = dense<[[0, 5, 2], [1, 4, 3], [6, 7, -1]]> : tensor<3x3xi64>, "
          "use_global_device_ids, " CHANNEL "} : ($X) -> $X\n  return %0 : $X\n}\n"},
    {"collective_reduce of two to roots that are named",
     HEAD "($X, $X) {\n  %p = stablehlo.partition_id : tensor<ui32>\n"
          "  %four = stablehlo.constant dense<4> : tensor<ui32>\n"
          "  %h = stablehlo.divide %p, %four : tensor<ui32>\n"
          "  %c = stablehlo.constant dense<2> : tensor<1xui32>\n"
          "  %d = stablehlo.reshape %h : (tensor<ui32>) -> tensor<1xui32>\n"
          "  %e = stablehlo.concatenate %c, %d, dim = 0 : (tensor<1xui32>, tensor<1xui32>) -> "
          "tensor<2xui32>\n  %y = stablehlo.add %x, %x : $X\n"
          "  %0:2 = \"stablehlo.collective_reduce\"(%x, %y, %e) " ADD
          " {has_dynamic_root, replica_groups = dense<[[3, 1, 2, 0], [6, 7, 5, 4]]> : "
          "tensor<2x4xi64>, use_global_device_ids, " CHANNEL
          "} : ($X, $X, tensor<2xui32>) -> ($X, $X)\n  return %0#0, %0#1 : $X, $X\n}\n"},
    {"sums of quantized elements", HEAD
     "$X {\n  %q = stablehlo.uniform_quantize %x : ($X) -> tensor<8x24x$Q>\n"
     "  %0 = \"stablehlo.all_reduce\"(%q) ({\n ^bb0(%a: tensor<$Q>, %b: tensor<$Q>):\n"
     "  %s = stablehlo.add %a, %b : tensor<$Q>\n  stablehlo.return %s : tensor<$Q>\n })"
     " {replica_groups = dense<[[0, 5, 2, 1], [4, 3, 6, 7]]> : tensor<2x4xi64>, "
     "use_global_device_ids, " CHANNEL "} : (tensor<8x24x$Q>) -> tensor<8x24x$Q>\n"
     "  %1 = \"stablehlo.reduce_scatter\"(%0) ({\n ^bb0(%a: tensor<$Q>, %b: tensor<$Q>):\n"
     "  %s = stablehlo.maximum %a, %b : tensor<$Q>\n  stablehlo.return %s : tensor<$Q>\n })"
     " {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 5], [2, 1], [4, 3], [6, 7]]> : "
     "tensor<4x2xi64>, use_global_device_ids, " CHANNEL "} : (tensor<8x24x$Q>) -> tensor<4x24x$Q>\n"
     "  %2 = stablehlo.concatenate %1, %1, dim = 0 : (tensor<4x24x$Q>, tensor<4x24x$Q>) -> "
     "tensor<8x24x$Q>\n"
     "  %3 = stablehlo.uniform_dequantize %2 : (tensor<8x24x$Q>) -> $X\n  return %3 : $X\n}\n"},
    {"send and recv", HEAD
     "$X {\n  %t = stablehlo.after_all : !stablehlo.token\n"
     "  %u = \"stablehlo.send\"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 3, "
     "type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0], [2, 5]]> "
     ": tensor<3x2xi64>} : ($X, !stablehlo.token) -> !stablehlo.token\n"
     "  %r:2 = \"stablehlo.recv\"(%u) {channel_handle = #stablehlo.channel_handle<handle = 3, "
     "type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0], [2, 5]]> "
     ": tensor<3x2xi64>} : (!stablehlo.token) -> ($X, !stablehlo.token)\n"
     "  return %r#0 : $X\n}\n"},
};
enum { PARTITION_PROGRAM_COUNT = sizeof kPartitionPrograms / sizeof *kPartitionPrograms };

// Programs of two replicas with four partitions each: every way to name groups.
#define GRID_GROUPS(list, type) "replica_groups = dense<" list "> : tensor<" type "xi64>"
static const program_t kGridPrograms[] = {
    {"all_reduce over replicas",
     HEAD "$X {\n  %y = \"stablehlo.all_reduce\"(%x) " ADD
          " {" GRID_GROUPS("[[1, 0]]", "1x2") "} : ($X) -> $X\n  return %y : $X\n}\n"},
    {"all_reduce over the partitions of each replica", HEAD
     "$X {\n  %y = \"stablehlo.all_reduce\"(%x) (" SELECT
     ") {" GRID_GROUPS("[[0], [1]]", "2x1") ", " CHANNEL "} : ($X) -> $X\n  return %y : $X\n}\n"},
    {"all_reduce over all, by a computation", HEAD
     "$X {\n  %y = \"stablehlo.all_reduce\"(%x) (" SELECT
     ") {" GRID_GROUPS("[[0, 1]]", "1x2") ", " CHANNEL "} : ($X) -> $X\n  return %y : $X\n}\n"},
    {"reduce_scatter over flattened ids, by a computation", HEAD
     "tensor<2x24x$T> {\n  %0 = \"stablehlo.reduce_scatter\"(%x) (" SELECT
     ") {scatter_dimension = 0 : i64, use_global_device_ids, " GRID_GROUPS(
         "[[7, 0, 2, 5], [1, 3, 4, 6]]",
         "2x4") ", " CHANNEL "} : ($X) -> tensor<2x24x$T>\n  return %0 : tensor<2x24x$T>\n}\n"},
    {"reduce_scatter over replicas, by a computation",
     HEAD "tensor<8x12x$T> {\n  %0 = \"stablehlo.reduce_scatter\"(%x) (" SELECT
          ") {scatter_dimension = 1 : i64, " GRID_GROUPS(
              "[[0, 1]]", "1x2") "} : ($X) -> tensor<8x12x$T>\n  return %0 : tensor<8x12x$T>\n}\n"},
    {"all_gather over flattened ids", HEAD
     "tensor<16x24x$T> {\n  %0 = \"stablehlo.all_gather\"(%x) {all_gather_dim = 0 : i64, "
     "use_global_device_ids, " GRID_GROUPS(
         "[[4, 3], [0, 7], [6, 1], [2, 5]]",
         "4x2") ", " CHANNEL "} : ($X) -> tensor<16x24x$T>\n  return %0 : tensor<16x24x$T>\n}\n"},
    {"all_to_all over partitions and over replicas", HEAD
     "$X {\n  %0 = \"stablehlo.all_to_all\"(%x) {split_dimension = 1 : i64, concat_dimension = 1 "
     ": i64, split_count = 4 : i64, " GRID_GROUPS(
         "[[3, 1, 0, 2]]",
         "1x4") ", " CHANNEL
                "} : ($X) -> $X\n  %1 = \"stablehlo.all_to_all\"(%0) {split_dimension = 0 : i64, "
                "concat_dimension = 0 : i64, split_count = 2 : i64, " GRID_GROUPS(
                    "[[1, 0]]", "1x2") "} : ($X) -> $X\n  return %1 : $X\n}\n"},
    {"permutes and broadcasts of both kinds, and ids", HEAD
     "($X, $X, tensor<ui32>) {\n  %0 = \"stablehlo.collective_permute\"(%x) {source_target_pairs = "
     "dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : ($X) -> $X\n"
     "  %1 = \"stablehlo.collective_permute\"(%0) {source_target_pairs = "
     "dense<[[0, 3], [3, 2], [1, 1]]> : tensor<3x2xi64>, " CHANNEL "} : ($X) -> $X\n"
     "  %2 = \"stablehlo.collective_broadcast\"(%x) {" GRID_GROUPS(
         "[[2, 0], [3, 1]]", "2x2") ", " CHANNEL "} : ($X) -> $X\n"
                                    "  %r = stablehlo.replica_id : tensor<ui32>\n  %p = "
                                    "stablehlo.partition_id : tensor<ui32>\n"
                                    "  %s = stablehlo.add %r, %p : tensor<ui32>\n"
                                    "  %3 = \"stablehlo.all_reduce\"(%s) ({\n ^bb0(%a: "
                                    "tensor<ui32>, %b: tensor<ui32>):\n"
                                    "  %m = stablehlo.maximum %a, %b : tensor<ui32>\n  "
                                    "stablehlo.return %m : tensor<ui32>\n })"
                                    " {" GRID_GROUPS(
                                        "[[0, 1]]",
                                        "1x2") "} : (tensor<ui32>) -> tensor<ui32>\n"
                                               "  return %1, %2, %3 : $X, $X, tensor<ui32>\n}\n"},
    {"collective_reduce over flattened ids",
     HEAD "$X {\n  %0 = \"stablehlo.collective_reduce\"(%x) (" SELECT
          ") {use_global_device_ids, " GRID_GROUPS("[[7, 0, 2, 5], [1, 3, 4, 6]]",
                                                   "2x4") ", " CHANNEL
                                                          "} : ($X) -> $X\n  return %0 : $X\n}\n"},
    {"send and recv between partitions", HEAD
     "$X {\n  %t = stablehlo.after_all : !stablehlo.token\n"
     "  %u = \"stablehlo.send\"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 3, "
     "type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [3, 0]]> "
     ": tensor<2x2xi64>} : ($X, !stablehlo.token) -> !stablehlo.token\n"
     "  %r:2 = \"stablehlo.recv\"(%u) {channel_handle = #stablehlo.channel_handle<handle = 3, "
     "type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [3, 0]]> "
     ": tensor<2x2xi64>} : (!stablehlo.token) -> ($X, !stablehlo.token)\n"
     "  return %r#0 : $X\n}\n"},
};
enum { GRID_PROGRAM_COUNT = sizeof kGridPrograms / sizeof *kGridPrograms, GRID_REPLICAS = 2 };

static bool is_of_grid(const program_t* program) {
  return program >= kGridPrograms && program < kGridPrograms + GRID_PROGRAM_COUNT;
}

static bool is_partitioned(const program_t* program) {
  return program >= kPartitionPrograms && program < kPartitionPrograms + PARTITION_PROGRAM_COUNT;
}

static const char* expand(char c) {
  switch (c) {
    case 'X': return "tensor<8x24x$T>";
    case 'S': return "tensor<$T>";
    case 'G': return "dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>";
    case 'Q': return "!quant.uniform<i8:f32, 0.5:2>";
    case 'H': return "dense<[[6, 0, 2, 4], [1, 5, 3, 7]]> : tensor<2x4xi64>";
    default: return "";
  }
}

static void append_text(const char* text, const char* element, hlo_strbuf_t* out) {
  for (const char* c = text; *c; ++c) {
    if (*c != '$') {
      hlo_strbuf_putc(out, *c);
    } else if (*++c == 'T') {
      hlo_strbuf_puts(out, element);
    } else {
      append_text(expand(*c), element, out);
    }
  }
}

// ---- runs --------------------------------------------------------------------------------------

typedef struct bytes {
  size_t size_bytes;
  uint8_t* data;
} bytes_t;

static hlo_client_t* make_client(uint32_t thread_count) {
  hlo_client_options_t options = {.device_count = DEVICES, .thread_count = thread_count};
  hlo_client_t* client = NULL;
  hlo_test_check(hlo_client_create(&options, &client));
  return client;
}

// `expected`: the back end whose program runs. `special` (NULL: none): collectives that have their
// own memory and are not asynchronous.
static hlo_loaded_t* load_special(hlo_client_t* client, const char* text, int32_t replicas,
                                  const char* backend, const char* expected, const char* special) {
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  config.replica_count = replicas;
  config.partition_count = DEVICES / replicas;
  config.backend = backend;
  config.collective_memory = config.sync_collectives = special;
  config.verify_each = strcmp(backend, "c") != 0;
  hlo_executable_t* executable = NULL;
  hlo_status_t status =
      hlo_compile(text, strlen(text), "test.mlir", &config, NULL, 0, NULL, &executable);
  if (!hlo_status_is_ok(status)) fail_msg("%s\n%s", hlo_status_message(status), text);
  // Without a C compiler, back end c uses the interpreter.
  if (strcmp(backend, "c") != 0 && strcmp(executable->program->backend->name, expected) != 0) {
    fail_msg("run by %s instead of %s:\n%s", executable->program->backend->name, expected, text);
  }
  hlo_loaded_t* loaded = NULL;
  hlo_test_check(hlo_loaded_create(client, executable, 0, NULL, &loaded));
  hlo_executable_release(executable);
  return loaded;
}

static hlo_loaded_t* load_grid(hlo_client_t* client, const char* text, int32_t replicas,
                               const char* backend, const char* expected) {
  return load_special(client, text, replicas, backend, expected, NULL);
}

static hlo_loaded_t* load(hlo_client_t* client, const char* text, const char* backend,
                          const char* expected) {
  return load_grid(client, text, DEVICES, backend, expected);
}

// Small numbers, whose sums and products are exact in most types.
static void fill(hlo_dtype_t dtype, uint32_t device, uint8_t* to, size_t count) {
  if (hlo_dtype_is_complex(dtype)) {
    fill(hlo_dtype_info(dtype)->part, device, to, 2 * count);
    return;
  }
  size_t width = hlo_dtype_size_bytes(dtype);
  uint32_t state = 12345 + device * 7919;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    int64_t value = (int64_t)(state >> 28) - 4;
    if (hlo_dtype_is_float(dtype)) {
      hlo_dtype_store_double(dtype, to + i * width, (double)value);
    } else {
      hlo_dtype_store_int64(dtype, to + i * width, value);
    }
  }
}

static hlo_buffer_t* make_input(hlo_client_t* client, hlo_dtype_t dtype, uint32_t device) {
  static const int64_t dims[2] = {ROWS, COLUMNS};
  const hlo_buffer_shape_t shape = {.dtype = dtype, .rank = 2, .dims = dims};
  uint8_t data[ROWS * COLUMNS * 16];
  fill(dtype, device, data, ROWS * COLUMNS);
  hlo_memory_t* memory = &hlo_client_device(client, device)->memories[HLO_MEMORY_DEVICE];
  hlo_buffer_t* buffer = NULL;
  hlo_test_check(hlo_buffer_from_host(memory, &shape, data, NULL,
                                      HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer));
  return buffer;
}

static void append_result(hlo_buffer_t* buffer, size_t size_bytes, bytes_t* out) {
  uint8_t* room = hlo_mem_alloc(out->size_bytes + size_bytes);
  assert_non_null(room);
  if (out->size_bytes) memcpy(room, out->data, out->size_bytes);
  hlo_event_t* done = NULL;
  hlo_test_check(hlo_buffer_to_host(buffer, room + out->size_bytes, size_bytes, NULL, &done));
  hlo_test_check(hlo_event_await(done, UINT64_MAX));
  hlo_event_release(done);
  hlo_mem_free(out->data);
  out->data = room;
  out->size_bytes += size_bytes;
}

typedef hlo_buffer_t* results_t[DEVICES][4];

// Arguments are released right after the launch.
static void launch(hlo_client_t* client, hlo_loaded_t* loaded, hlo_dtype_t dtype,
                   results_t results) {
  hlo_buffer_t* arguments[DEVICES][1];
  hlo_buffer_t* const* argument_rows[DEVICES];
  hlo_buffer_t** result_rows[DEVICES];
  for (uint32_t d = 0; d < DEVICES; ++d) {
    arguments[d][0] = make_input(client, dtype, d);
    argument_rows[d] = arguments[d];
    result_rows[d] = results[d];
  }
  hlo_test_check(hlo_loaded_execute(loaded, &(hlo_launch_t){.device_count = DEVICES,
                                                            .arguments = argument_rows,
                                                            .argument_count = 1,
                                                            .out_results = result_rows}));
  for (uint32_t d = 0; d < DEVICES; ++d) hlo_buffer_release(arguments[d][0]);
}

// All results of all devices, one after the other.
static bytes_t run(hlo_client_t* client, hlo_loaded_t* loaded, hlo_dtype_t dtype) {
  const hlo_executable_t* executable = hlo_loaded_executable(loaded);
  results_t results = {0};
  bytes_t all = {0};
  launch(client, loaded, dtype, results);
  for (uint32_t d = 0; d < DEVICES; ++d) {
    for (uint32_t r = 0; r < executable->result_count; ++r) {
      append_result(results[d][r], executable->results[r].size_bytes, &all);
      hlo_buffer_release(results[d][r]);
    }
  }
  return all;
}

static void compare_special(const program_t* program, hlo_dtype_t dtype, uint32_t backend_count,
                            const char* const* backends, const char* special) {
  hlo_strbuf_t text = {0};
  append_text(program->text, hlo_dtype_info(dtype)->mlir_name, &text);
  hlo_client_t* clients[] = {make_client(1), make_client(3)};
  const int32_t replicas = is_of_grid(program)       ? GRID_REPLICAS
                           : is_partitioned(program) ? 1
                                                     : DEVICES;
  hlo_loaded_t* reference =
      load_grid(clients[0], hlo_strbuf_text(&text), replicas, "interp", "interp");
  bytes_t want = run(clients[0], reference, dtype);
  hlo_loaded_release(reference);
  for (uint32_t b = 0; b < backend_count; ++b) {
    for (uint32_t c = 0; c < 2; ++c) {
      hlo_loaded_t* loaded = load_special(clients[c], hlo_strbuf_text(&text), replicas, backends[b],
                                          backends[b], special);
      for (int round = 0; round < 2; ++round) {
        bytes_t got = run(clients[c], loaded, dtype);
        assert_int_equal(got.size_bytes, want.size_bytes);
        if (memcmp(got.data, want.data, want.size_bytes) != 0) {
          fail_msg("%s of %s: %s differs", program->name, hlo_dtype_info(dtype)->mlir_name,
                   backends[b]);
        }
        hlo_mem_free(got.data);
      }
      hlo_loaded_release(loaded);
    }
  }
  hlo_mem_free(want.data);
  hlo_strbuf_deinit(&text);
  for (uint32_t c = 0; c < 2; ++c) hlo_client_release(clients[c]);
}

static void compare_program(const program_t* program, hlo_dtype_t dtype, uint32_t backend_count,
                            const char* const* backends) {
  compare_special(program, dtype, backend_count, backends, NULL);
}

// ---- tests -------------------------------------------------------------------------------------

static void executors_agree(void** state) {
  (void)state;
  static const char* const backends[] = {"native", "vir", "tile"};
  for (uint32_t p = 0; p < PROGRAM_COUNT; ++p) {
    compare_program(&kPrograms[p], HLO_DTYPE_F32, 3, backends);
  }
}

static void partitions_agree(void** state) {
  (void)state;
  static const char* const backends[] = {"native", "vir", "tile"};
  for (uint32_t p = 0; p < PARTITION_PROGRAM_COUNT; ++p) {
    compare_program(&kPartitionPrograms[p], HLO_DTYPE_F32, 3, backends);
  }
}

static void grids_agree(void** state) {
  (void)state;
  static const char* const backends[] = {"native", "vir"};
  for (uint32_t p = 0; p < GRID_PROGRAM_COUNT; ++p) {
    compare_program(&kGridPrograms[p], HLO_DTYPE_F32, 2, backends);
  }
}

// The interpreter's own result: device d receives the rows of its axis's devices, in mesh order.
static void groups_follow_the_mesh(void** state) {
  (void)state;
  static const uint32_t order[DEVICES] = {7, 0, 6, 1, 5, 2, 4, 3};
  hlo_client_t* client = make_client(2);
  hlo_strbuf_t text = {0};
  append_text(kPartitionPrograms[1].text, "f32", &text);
  hlo_loaded_t* loaded = load_grid(client, hlo_strbuf_text(&text), 1, "interp", "interp");
  bytes_t all = run(client, loaded, HLO_DTYPE_F32);
  enum { BYTES = ROWS * COLUMNS * 4 };
  for (uint32_t d = 0; d < DEVICES; ++d) {
    for (uint32_t part = 0; part < DEVICES; ++part) {
      uint8_t want[BYTES];
      fill(HLO_DTYPE_F32, order[part], want, ROWS * COLUMNS);
      assert_memory_equal(all.data + (d * DEVICES + part) * BYTES, want, BYTES);
    }
  }
  hlo_mem_free(all.data);
  hlo_strbuf_deinit(&text);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

// Only programs with loops and branches, because the C compiler is slow.
// Other memory and another order of the same collectives change no bit.
static void memory_of_collectives_agrees(void** state) {
  (void)state;
  static const char* const backends[] = {"native"};
  for (uint32_t p = 0; p < PROGRAM_COUNT; ++p) {
    compare_special(&kPrograms[p], HLO_DTYPE_F32, 1, backends, "all");
  }
  for (uint32_t p = 0; p < GRID_PROGRAM_COUNT; ++p) {
    compare_special(&kGridPrograms[p], HLO_DTYPE_S8, 1, backends, "all_gather,all_reduce");
  }
}

static void c_source_agrees(void** state) {
  (void)state;
  static const char* const backends[] = {"c"};
  for (uint32_t p = PROGRAM_COUNT - 2; p < PROGRAM_COUNT; ++p) {
    compare_program(&kPrograms[p], HLO_DTYPE_F32, 1, backends);
  }
}

static void element_types_agree(void** state) {
  (void)state;
  static const char* const backends[] = {"native"};
  static const hlo_dtype_t dtypes[] = {HLO_DTYPE_S8,  HLO_DTYPE_S32,  HLO_DTYPE_U64,
                                       HLO_DTYPE_F16, HLO_DTYPE_BF16, HLO_DTYPE_F64};
  for (uint32_t t = 0; t < sizeof dtypes / sizeof *dtypes; ++t) {
    for (uint32_t p = 0; p < PROGRAM_COUNT; ++p) {
      compare_program(&kPrograms[p], dtypes[t], 1, backends);
    }
  }
}

// An all_reduce by one op, !, and a reduce_scatter by two.
static const char kReducers[] = HEAD
    "($X, tensor<2x24x$T>) {\n  %0 = \"stablehlo.all_reduce\"(%x) ({\n ^bb0(%a: $S, %b: $S):\n"
    "  %s = stablehlo.! %a, %b : $S\n  stablehlo.return %s : $S\n }) {replica_groups = $G} : "
    "($X) -> $X\n  %1 = \"stablehlo.reduce_scatter\"(%x) ({\n ^bb0(%a: $S, %b: $S):\n"
    "  %s = stablehlo.! %a, %b : $S\n  %t = stablehlo.! %s, %b : $S\n"
    "  stablehlo.return %t : $S\n }) {scatter_dimension = 0 : i64, replica_groups = $H} : "
    "($X) -> tensor<2x24x$T>\n  return %0, %1 : $X, tensor<2x24x$T>\n}\n";

static bool has_op(hlo_dtype_t dtype, const char* op) {
  const bool is_logical = strcmp(op, "and") == 0 || strcmp(op, "or") == 0 || strcmp(op, "xor") == 0;
  const bool is_order = strcmp(op, "maximum") == 0 || strcmp(op, "minimum") == 0;
  if (hlo_dtype_is_complex(dtype)) return !is_logical && !is_order;
  if (hlo_dtype_is_float(dtype)) return !is_logical;
  return dtype == HLO_DTYPE_PRED ? strcmp(op, "subtract") != 0 : hlo_dtype_is_integer(dtype);
}

static void reducers_agree(void** state) {
  (void)state;
  static const char* const backends[] = {"native"};
  static const char* const ops[] = {"add", "multiply", "maximum", "minimum",
                                    "and", "or",       "xor",     "subtract"};
  for (hlo_dtype_t dtype = 0; dtype < HLO_DTYPE_COUNT; ++dtype) {
    for (uint32_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
      if (!has_op(dtype, ops[i])) continue;
      hlo_strbuf_t text = {0};
      for (const char* c = kReducers; *c; ++c) {
        if (*c == '!') {
          hlo_strbuf_puts(&text, ops[i]);
        } else {
          hlo_strbuf_putc(&text, *c);
        }
      }
      compare_program(&(program_t){ops[i], hlo_strbuf_text(&text)}, dtype, 1, backends);
      hlo_strbuf_deinit(&text);
    }
  }
}

// Device five fails: before it reaches the collective, or while others wait for it.
#define FAIL                                                                   \
  "  %id = stablehlo.replica_id : tensor<ui32>\n"                              \
  "  %five = stablehlo.constant dense<5> : tensor<ui32>\n"                     \
  "  %true = stablehlo.constant dense<true> : tensor<i1>\n"                    \
  "  %c = stablehlo.compare NE, %id, %five : (tensor<ui32>, tensor<ui32>) -> " \
  "tensor<i1>\n  \"check.expect_eq\"(%c, %true) : (tensor<i1>, tensor<i1>) -> ()\n"
static const program_t kFailures[] = {
    {"before", HEAD "$X {\n" FAIL SUM("%y", "%x", "$G") "  return %y : $X\n}\n"},
    {"in another group",
     HEAD "$X {\n" FAIL SUM("%y", "%x", "$H") SUM("%z", "%y", "$G") "  return %z : $X\n}\n"},
    {"meanwhile",
     HEAD "$X {\n  %f = \"stablehlo.async_start\"(%x) ({\n ^bb0(%arg: $X):\n" SUM(
         "%r", "%arg",
         "$G") "    stablehlo.return %r : $X\n  }) : ($X) -> !stablehlo.future<$X>\n" FAIL
               "  %1 = \"stablehlo.async_done\"(%f) : (!stablehlo.future<$X>) -> $X\n" SUM(
                   "%2", "%1", "$G") "  return %2 : $X\n}\n"},
};

static void fail_once(hlo_client_t* client, hlo_loaded_t* loaded, const char* message) {
  results_t results = {0};
  launch(client, loaded, HLO_DTYPE_F32, results);
  for (uint32_t d = 0; d < DEVICES; ++d) {
    float value;
    hlo_event_t* done = NULL;
    hlo_status_t status =
        hlo_buffer_copy_raw_to_host(results[d][0], &value, 0, sizeof value, &done);
    if (hlo_status_is_ok(status)) status = hlo_event_await(done, UINT64_MAX);
    if (!strstr(hlo_status_message(status), message)) {
      fail_msg("device %u: '%s'", d, hlo_status_message(status));
    }
    hlo_status_release(status);
    hlo_event_release(done);
    hlo_buffer_release(results[d][0]);
  }
}

static void errors_reach_all_devices(void** state) {
  (void)state;
  static const char* const backends[] = {"native", "vir", "interp"};
  hlo_client_t* clients[] = {make_client(1), make_client(3)};
  for (uint32_t p = 0; p < sizeof kFailures / sizeof *kFailures; ++p) {
    hlo_strbuf_t text = {0};
    append_text(kFailures[p].text, "f32", &text);
    for (uint32_t b = 0; b < 3; ++b) {
      for (uint32_t c = 0; c < 2; ++c) {
        hlo_loaded_t* loaded = load(clients[c], hlo_strbuf_text(&text), backends[b], backends[b]);
        for (int round = 0; round < 10; ++round) fail_once(clients[c], loaded, "check.expect_eq");
        hlo_loaded_release(loaded);
      }
    }
    hlo_strbuf_deinit(&text);
  }
  for (uint32_t c = 0; c < 2; ++c) hlo_client_release(clients[c]);
}

// One device names a root that its group does not have.
static void roots_are_checked(void** state) {
  (void)state;
  static const char* const backends[] = {"native", "interp"};
  hlo_client_t* client = make_client(2);
  hlo_strbuf_t text = {0};
  append_text(HEAD
              "$X {\n  %r = stablehlo.replica_id : tensor<ui32>\n"
              "  %i = stablehlo.reshape %r : (tensor<ui32>) -> tensor<1xui32>\n"
              "  %y = \"stablehlo.collective_broadcast\"(%x, %i) {has_dynamic_root, "
              "replica_groups = dense<[[0, 1, 2, 3, 4, 5, 7]]> : tensor<1x7xi64>} : "
              "($X, tensor<1xui32>) -> $X\n" SUM("%z", "%y", "$G") "  return %z : $X\n}\n",
              "f32", &text);
  hlo_strbuf_t reduce = {0};
  append_text(HEAD
              "$X {\n  %i = stablehlo.constant dense<9> : tensor<1xi32>\n"
              "  %y = \"stablehlo.collective_reduce\"(%x, %i) " ADD
              " {has_dynamic_root, replica_groups = dense<0> : tensor<0x0xi64>} : ($X, "
              "tensor<1xi32>) -> $X\n  return %y : $X\n}\n",
              "f32", &reduce);
  for (uint32_t b = 0; b < 2; ++b) {
    hlo_loaded_t* loaded = load(client, hlo_strbuf_text(&text), backends[b], backends[b]);
    fail_once(client, loaded, "the root is member 7 of a group of 7");
    hlo_loaded_release(loaded);
    loaded = load(client, hlo_strbuf_text(&reduce), backends[b], backends[b]);
    fail_once(client, loaded, "the root is member 9 of a group of 8");
    hlo_loaded_release(loaded);
  }
  hlo_strbuf_deinit(&reduce);
  hlo_strbuf_deinit(&text);
  hlo_client_release(client);
}

static void exchanges_leave_spans(void** state) {
  (void)state;
  hlo_client_t* client = make_client(2);
  hlo_strbuf_t text = {0};
  append_text(HEAD "$X {\n" SUM("%y", "%x", "$G") "  return %y : $X\n}\n", "f32", &text);
  hlo_loaded_t* loaded = load(client, hlo_strbuf_text(&text), "native", "native");
  hlo_recording_t* recording = NULL;
  hlo_test_check(hlo_recording_start());
  bytes_t all = run(client, loaded, HLO_DTYPE_F32);
  hlo_test_check(hlo_recording_stop(&recording));
  const hlo_span_t* found = NULL;
  for (size_t i = 0; i < recording->spans.count; ++i) {
    const hlo_span_t* span = &recording->spans.items[i];
    if (strcmp(span->category, "collective") != 0) continue;
    assert_null(found);
    found = span;
  }
  assert_non_null(found);
  assert_string_equal(found->name, "stablehlo.all_reduce");
  assert_string_equal(found->facts[0].name, "members");
  assert_int_equal(found->facts[0].value, DEVICES);
  hlo_recording_release(recording);
  hlo_mem_free(all.data);
  hlo_strbuf_deinit(&text);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

// Generated code calls the table's functions without checks.
static void check_table(const hlo_runtime_table_t* table) {
  enum { FIRST = 2 * sizeof(uint32_t) };  // after version and size
  assert_int_equal(table->abi_version, HLO_PROGRAM_ABI_VERSION);
  assert_int_equal(table->size_bytes % sizeof(void*), 0);
  for (size_t at = FIRST; at < sizeof *table; at += sizeof(void*)) {
    void* function;
    memcpy(&function, (const char*)table + at, sizeof function);
    assert_non_null(function);
  }
}

static void tables_are_complete(void** state) {
  (void)state;
  check_table(&hlo_execute_table);
  check_table(hlo_group_runtime(NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_are_complete),      cmocka_unit_test(exchanges_leave_spans),
      cmocka_unit_test(executors_agree),          cmocka_unit_test(partitions_agree),
      cmocka_unit_test(groups_follow_the_mesh),   cmocka_unit_test(memory_of_collectives_agrees),
      cmocka_unit_test(c_source_agrees),          cmocka_unit_test(element_types_agree),
      cmocka_unit_test(errors_reach_all_devices), cmocka_unit_test(roots_are_checked),
      cmocka_unit_test(reducers_agree),           cmocka_unit_test(grids_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
