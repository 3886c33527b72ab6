#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/partitioning.md: what a device exchanges if a dimension of an operand is divided, for every
operation of src/spmd/rules.def.

usage: partitioning.py HLOCC [--check]

The rows below are small programs. Each dimension of each argument is divided over four devices in turn,
the program is partitioned, and the collectives of what one device computes are read. Dimensions have names;
equal names in one program are one loop."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/partitioning.md"
DEVICES = 4
BYTES = {"f32": 4, "i32": 4, "ui32": 4, "i64": 8, "ui64": 8, "i1": 1, "complex<f32": 8}

REGION = """ ({{
    ^bb0(%p: tensor<{t}>, %q: tensor<{t}>):
      %z = stablehlo.{op} %p, %q : tensor<{t}>
      stablehlo.return %z : tensor<{t}>
    }})"""
LESS = """ ({{
    ^bb0(%p: tensor<{t}>, %q: tensor<{t}>):
      %z = stablehlo.compare {how}, %p, %q : (tensor<{t}>, tensor<{t}>) -> tensor<i1>
      stablehlo.return %z : tensor<i1>
    }})"""
SELECT = LESS.format(t="f32", how="GE")
ADD, MAX = REGION.format(t="f32", op="add"), REGION.format(t="f32", op="maximum")
ARGMAX = """ ({
    ^bb0(%p: tensor<f32>, %i: tensor<i32>, %q: tensor<f32>, %k: tensor<i32>):
      %gt = stablehlo.compare GT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %x = stablehlo.select %gt, %p, %q : tensor<i1>, tensor<f32>
      %y = stablehlo.select %gt, %i, %k : tensor<i1>, tensor<i32>
      stablehlo.return %x, %y : tensor<f32>, tensor<i32>
    })"""


def window(sizes, strides=(1, 1), low=(0, 0), high=(0, 0), more=""):
    pads = ", ".join(f"[{a}, {b}]" for a, b in zip(low, high))
    return (f"{{window_dimensions = array<i64: {sizes[0]}, {sizes[1]}>, window_strides = array<i64: {strides[0]}, "
            f"{strides[1]}>, padding = dense<[{pads}]> : tensor<2x2xi64>{more}}}")


def convolution(form, text, groups=""):
    return (f"stablehlo.convolution(%a, %b) dim_numbers = {form}, window = {{{text}}} "
            f"{{batch_group_count = {2 if groups == 'batch' else 1} : i64, "
            f"feature_group_count = {2 if groups == 'feature' else 1} : i64}} : $T")


# Operation, what the row shows, arguments "name:dim=size,...:type", types of the results, text: $T is the
# type of the op, $0 ... those of the results.
ROWS = [
    ("add", "", "a:row=512,col=512:f32 b:row=512,col=512:f32", ["512x512xf32"], "stablehlo.add %a, %b : $0"),
    ("bitcast_convert", "to smaller elements", "a:row=512,col=512:f32", ["512x512x4xi8"],
     "stablehlo.bitcast_convert %a : $T"),
    ("broadcast", "", "a:col=512:f32", ["8x512xf32"],
     '"stablehlo.broadcast"(%a) {broadcast_sizes = array<i64: 8>} : $T'),
    ("broadcast_in_dim", "", "a:col=512:f32", ["8x512xf32"], "stablehlo.broadcast_in_dim %a, dims = [1] : $T"),
    ("concatenate", "", "a:joined=512,col=512:f32 b:joined=512,col=512:f32", ["1024x512xf32"],
     "stablehlo.concatenate %a, %b, dim = 0 : $T"),
    ("dynamic_slice", "a few rows", "a:sliced=512,col=512:f32 i:: i32", ["4x512xf32"],
     "stablehlo.dynamic_slice %a, %i, %zero, sizes = [4, 512] : $T"),
    ("dynamic_slice", "most rows", "a:sliced=512,col=512:f32 i::i32", ["500x512xf32"],
     "stablehlo.dynamic_slice %a, %i, %zero, sizes = [500, 512] : $T"),
    ("dynamic_update_slice", "", "a:written=512,col=512:f32 b:update=4,col=512:f32 i::i32", ["512x512xf32"],
     "stablehlo.dynamic_update_slice %a, %b, %i, %zero : $T"),
    ("gather", "rows", "a:indexed=512,col=512:f32 b:index=64,vector=1:i32", ["64x512xf32"],
     '"stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], '
     'start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 512>, indices_are_sorted = false} : $T'),
    ("gather", "windows of rows", "a:indexed=512,col=512:f32 b:index=64,vector=1:i32", ["64x3x512xf32"],
     '"stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0], '
     'index_vector_dim = 1>, slice_sizes = array<i64: 3, 512>, indices_are_sorted = false} : $T'),
    ("pad", "", "a:padded=512,col=512:f32", ["516x512xf32"],
     "stablehlo.pad %a, %f, low = [2, 0], high = [2, 0], interior = [0, 0] : (tensor<512x512xf32>, tensor<f32>) -> $0"),
    ("reshape", "splits a dimension", "a:split=512,col=512:f32", ["8x64x512xf32"], "stablehlo.reshape %a : $T"),
    ("reshape", "merges dimensions", "a:major=8,minor=64,col=512:f32", ["512x512xf32"], "stablehlo.reshape %a : $T"),
    ("reverse", "", "a:reversed=512,col=512:f32", ["512x512xf32"], "stablehlo.reverse %a, dims = [0] : $0"),
    ("scatter", "adds to rows", "a:indexed=512,col=512:f32 b:index=64,vector=1:i32 c:index=64,col=512:f32",
     ["512x512xf32"],
     f'"stablehlo.scatter"(%a, %b, %c){ADD} {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], '
     'inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = '
     'false, unique_indices = false} : $T'),
    ("slice", "", "a:sliced=512,col=512:f32", ["508x512xf32"], "stablehlo.slice %a [2:510, 0:512] : $T"),
    ("transpose", "", "a:row=512,col=512:f32", ["512x512xf32"], "stablehlo.transpose %a, dims = [1, 0] : $T"),
    ("reduce", "adds", "a:reduced=512,col=512:f32", ["512xf32"],
     "stablehlo.reduce(%a init: %f) applies stablehlo.add across dimensions = [0] : (tensor<512x512xf32>, "
     "tensor<f32>) -> $0"),
    ("reduce", "of two values, as argmax", "a:reduced=512,col=512:f32 b:reduced=512,col=512:i32", ["512xf32", "512xi32"],
     f'"stablehlo.reduce"(%a, %b, %f, %zero){ARGMAX} {{dimensions = array<i64: 0>}} : (tensor<512x512xf32>, '
     'tensor<512x512xi32>, tensor<f32>, tensor<i32>) -> ($0, $1)'),
    ("reduce_window", "pooling", "a:pooled=512,col=512:f32", ["256x512xf32"],
     f'"stablehlo.reduce_window"(%a, %f){MAX} {window((3, 1), (2, 1), (1, 0))} : (tensor<512x512xf32>, tensor<f32>) '
     '-> $0'),
    ("reduce_window", "cumulative", "a:summed=512,col=512:f32", ["512x512xf32"],
     f'"stablehlo.reduce_window"(%a, %f){ADD} {window((512, 1), low=(511, 0))} : (tensor<512x512xf32>, tensor<f32>) '
     '-> $0'),
    ("select_and_scatter", "gradient of pooling", "a:pooled=512,col=512:f32 b:windows=256,col=512:f32", ["512x512xf32"],
     f'"stablehlo.select_and_scatter"(%a, %b, %f){SELECT[:-1]},{ADD[2:]} {window((2, 1), (2, 1))} : (tensor<512x512xf32>, '
     'tensor<256x512xf32>, tensor<f32>) -> $0'),
    ("select_and_scatter", "with padding", "a:pooled=512,col=512:f32 b:windows=256,col=512:f32", ["512x512xf32"],
     f'"stablehlo.select_and_scatter"(%a, %b, %f){SELECT[:-1]},{ADD[2:]} {window((3, 1), (2, 1), (1, 0))} : '
     '(tensor<512x512xf32>, tensor<256x512xf32>, tensor<f32>) -> $0'),
    ("sort", "", "a:batch=512,sorted=512:f32", ["512x512xf32"],
     f'"stablehlo.sort"(%a){LESS.format(t="f32", how="LT")} {{dimension = 1 : i64, is_stable = true}} : $T'),
    ("sort", "of one line", "a:sorted=65536:f32", ["65536xf32"],
     f'"stablehlo.sort"(%a){LESS.format(t="f32", how="LT")} {{dimension = 0 : i64, is_stable = true}} : $T'),
    ("convolution", "", "a:batch=8,height=64,feature=64:f32 b:window=3,feature=64,out=64:f32", ["8x64x64xf32"],
     convolution("[b, 0, f]x[0, i, o]->[b, 0, f]", "pad = [[1, 1]]")),
    ("convolution", "gradient of the input", "a:batch=8,height=32,feature=64:f32 b:window=3,feature=64,out=64:f32",
     ["8x64x64xf32"],
     convolution("[b, 0, f]x[0, i, o]->[b, 0, f]", "pad = [[1, 2]], lhs_dilate = [2], reverse = [true]")),
    ("convolution", "gradient of the kernel", "a:batch=8,height=64,feature=64:f32 b:batch=8,windows=64,out=64:f32",
     ["3x64x64xf32"], convolution("[f, 0, b]x[i, 0, o]->[0, b, f]", "pad = [[1, 1]]")),
    ("convolution", "groups of features", "a:batch=8,height=64,groups=64:f32 b:window=3,feature=32,groups=64:f32",
     ["8x64x64xf32"], convolution("[b, 0, f]x[0, i, o]->[b, 0, f]", "pad = [[1, 1]]", "feature")),
    ("convolution", "groups of batches", "a:groups=8,height=64,feature=64:f32 b:window=3,feature=64,groups=64:f32",
     ["4x64x64xf32"], convolution("[b, 0, f]x[0, i, o]->[b, 0, f]", "pad = [[1, 1]]", "batch")),
    ("dot_general", "", "a:batch=8,row=512,sum=512:f32 b:batch=8,sum=512,col=512:f32", ["8x512x512xf32"],
     "stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : $T"),
    ("dot", "", "a:row=512,sum=512:f32 b:sum=512,col=512:f32", ["512x512xf32"], "stablehlo.dot %a, %b : $T"),
    ("hlo_scaled_dot", "", "a:row=512,sum=512:f8E4M3FN b:col=512,sum=512:f8E4M3FN s:row=512,sum=16:f8E8M0FNU "
     "t:col=512,sum=16:f8E8M0FNU", ["512x512xf32"],
     "hlo.scaled_dot %a, %b, %s, %t, contracting_dims = [1] x [1] : $T"),
    ("einsum", "", "a:row=512,sum=512:f32 b:sum=512,col=512:f32", ["512x512xf32"],
     '"stablehlo.einsum"(%a, %b) {einsum_config = "ab,bc->ac"} : $T'),
    ("unary_einsum", "", "a:row=512,sum=512:f32", ["512xf32"],
     '"stablehlo.unary_einsum"(%a) {einsum_config = "ab->a"} : $T'),
    ("cholesky", "", "a:batch=64,row=64,col=64:f32", ["64x64x64xf32"], "stablehlo.cholesky %a, lower = true : $0"),
    ("triangular_solve", "", "a:batch=64,row=64,col=64:f32 b:batch=64,row=64,systems=64:f32", ["64x64x64xf32"],
     '"stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = '
     '#stablehlo<transpose NO_TRANSPOSE>} : $T'),
    ("fft", "", "a:batch=512,transformed=512:complex<f32>", ["512x512xcomplex<f32>"],
     "stablehlo.fft %a, type = FFT, length = [512] : $T"),
    ("fft", "of two dimensions", "a:transformed=512,too=512:complex<f32>", ["512x512xcomplex<f32>"],
     "stablehlo.fft %a, type = FFT, length = [512, 512] : $T"),
    ("batch_norm_inference", "", "a:batch=64,height=64,feature=64:f32 s:feature=64:f32", ["64x64x64xf32"],
     '"stablehlo.batch_norm_inference"(%a, %s, %s, %s, %s) {epsilon = 0.001 : f32, feature_index = 2 : i64} : '
     '(tensor<64x64x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> $0'),
    ("batch_norm_training", "", "a:batch=64,height=64,feature=64:f32 s:feature=64:f32",
     ["64x64x64xf32", "64xf32", "64xf32"],
     '"stablehlo.batch_norm_training"(%a, %s, %s) {epsilon = 0.001 : f32, feature_index = 2 : i64} : '
     '(tensor<64x64x64xf32>, tensor<64xf32>, tensor<64xf32>) -> ($0, $1, $2)'),
    ("batch_norm_grad", "", "a:batch=64,height=64,feature=64:f32 s:feature=64:f32",
     ["64x64x64xf32", "64xf32", "64xf32"],
     '"stablehlo.batch_norm_grad"(%a, %s, %s, %s, %a) {epsilon = 0.001 : f32, feature_index = 2 : i64} : '
     '(tensor<64x64x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64x64xf32>) -> ($0, $1, $2)'),
    ("chlo_top_k", "of lines", "a:batch=512,selected=512:f32", ["512x4xf32", "512x4xi32"],
     "chlo.top_k(%a, k = 4) : tensor<512x512xf32> -> ($0, $1)"),
    ("chlo_top_k", "of one line", "a:selected=65536:f32", ["4xf32", "4xi32"],
     "chlo.top_k(%a, k = 4) : tensor<65536xf32> -> ($0, $1)"),
    ("custom_call", "matrix factorizations", "a:batch=64,row=64,col=64:f32", ["64x64x64xf32", "64xi32"],
     'stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<64x64x64xf32>) '
     '-> ($0, $1)'),
]

# Operations that are not divided by a rule.
NOTES = {
    "constants and counts": ("constant iota chlo_constant chlo_constant_like", "each device makes its part"),
    "control flow": ("while if case optimization_barrier return func_return tuple get_tuple_element",
                     "values stay divided; sums that a loop carries are summed after it"),
    "calls": ("call composite hlo_fusion", "are inlined before"),
    "random numbers": ("rng rng_bit_generator hlo_rng_get_and_update_state",
                       "each device generates the bits of its part of a rng_bit_generator's major dimension, and keeps "
                       "its part of the others; those that JAX computes from counts are local"),
    "shapes that are operands": ("get_dimension_size set_dimension_size dynamic_broadcast_in_dim dynamic_conv "
                                 "dynamic_gather dynamic_iota dynamic_pad dynamic_reshape real_dynamic_slice "
                                 "torch_index_select", "are made static before, or need whole operands"),
    "effects": ("after_all create_token infeed outfeed send recv hlo_send_done hlo_recv_done hlo_add_dependency "
                "interpreter_run_parallel interpreter_print interpreter_probe", "whole operands"),
    "collectives of manual computations": (
        "all_gather all_reduce all_to_all collective_broadcast collective_permute collective_reduce cross_replica_sum "
        "reduce_scatter hlo_ragged_all_to_all partition_id replica_id async_start async_done hlo_async_start "
        "hlo_async_update hlo_async_done hlo_copy_start hlo_copy_done hlo_bitcast",
        "dimensions that they do not change are local along the other axes"),
    "shardings": ("sdy_mesh sdy_sharding_constraint sdy_reshard sdy_sharding_group sdy_propagation_barrier "
                  "sdy_manual_computation sdy_return sdy_named_computation sdy_constant sdy_data_flow_edge "
                  "sdy_func_data_flow_edge sdy_all_gather sdy_all_slice sdy_all_to_all sdy_collective_permute "
                  "sdy_all_reduce sdy_reduce_scatter sdy_sharded_to_unreduced sdy_replicated_to_unreduced", "values are brought to what they say, and nothing remains"),
    "tests": ("check_expect_almost_eq_const check_expect_almost_eq check_expect_eq_const check_expect_eq "
              "check_expect_close check_expect_serialized_eq", "whole operands"),
    "functions of CHLO": ("chlo_ragged_dot chlo_scan", "local along batches and what the body treats alike"),
}


def rules():
    text = (ROOT / "src/spmd/rules.def").read_text(encoding="utf-8")
    pairs = re.findall(r"^HLO_SHARDING_RULE\((\w+), (\w+)\)", text, re.M)
    rest = re.findall(r"^HLO_NO_SHARDING_RULE\((\w+)\)", text, re.M)
    return [op for op, rule in pairs if rule in ("elementwise", "broadcast_operands")], \
        [op for op, rule in pairs if rule not in ("elementwise", "broadcast_operands")] + rest


def parse_args(text):
    for item in text.replace(": i32", ":i32").split():
        name, dims, dtype = item.split(":", 2)
        yield name, [(d.split("=")[0], int(d.split("=")[1])) for d in dims.split(",") if d], dtype


def type_of(dims, dtype):
    return "tensor<" + "".join(f"{size}x" for _, size in dims) + dtype + ">"


def program(args, results, text, divided):
    types = [f"tensor<{r}>" for r in results]
    signature = ", ".join(
        f"%{name}: {type_of(dims, dtype)}" + (divided[1] if divided[0] == name else "") for name, dims, dtype in args)
    whole = f"({', '.join(type_of(d, t) for _, d, t in args)}) -> ({', '.join(types)})"
    if " i::" in " " + " ".join(f"{n}::" for n, d, _ in args if not d):  # indices: two of them
        whole = whole.replace(") ->", ", tensor<i32>) ->")
    text = text.replace("$T", whole)
    for i, t in enumerate(types):
        text = text.replace(f"${i}", t)
    names = ", ".join(f"%r#{i}" if len(types) > 1 else "%r" for i in range(len(types)))
    return (f"module attributes {{mhlo.num_partitions = {DEVICES} : i32}} {{\n  sdy.mesh @mesh = <[\"x\"={DEVICES}]>\n"
            f"  func.func @main({signature}) -> ({', '.join(types)}) {{\n    %zero = stablehlo.constant dense<0> : "
            f"tensor<i32>\n    %f = stablehlo.constant dense<0.0> : tensor<f32>\n    %r"
            f"{':%d' % len(types) if len(types) > 1 else ''} = {text}\n    return {names} : {', '.join(types)}\n  }}\n}}\n")


def size_of(text):
    dims, dtype = re.match(r"((?:\d+x)*)([^>]*)", text).groups()
    size = BYTES.get(dtype, 1)
    for d in dims.split("x")[:-1]:
        size *= int(d)
    return size


def classify(tool, source, whole_bytes):
    run = subprocess.run([tool, "opt", "--passes=lower_mesh_groups,inline,dce,partition,cse,dce", "-"], input=source,
                         capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"partitioning: {run.stderr}\n{source}")
    kinds = set()
    returned = re.search(r"^    return (.*) :", run.stdout, re.M).group(1).split(", ")
    for name, op, result in re.findall(r'(%\d+) = "stablehlo\.(all_gather|all_reduce|all_to_all|reduce_scatter|collective_permute)"'
                                 r"(?:[^{\n]*\(\{.*?\}\)|.*?) : \([^\n]*?\) -> \(?tensor<([^\n>]*(?:<f32>)?)", run.stdout,
                                 re.S):
        if op == "all_gather" and name in returned:
            continue  # the program returns it whole
        if op in ("all_reduce", "reduce_scatter"):
            kinds.add("sum")
        elif op == "all_gather" and size_of(result) >= whole_bytes:
            kinds.add("gather")
        else:
            kinds.add("exchange")
    return next((k for k in ("gather", "exchange", "sum") if k in kinds), "local")


def answers(tool, row):
    _, _, text, results, body = row
    args = list(parse_args(text))
    found = {}
    for name, dims, dtype in args:
        for d, (label, size) in enumerate(dims):
            if size % DEVICES:
                continue
            sharding = ", ".join('{"x"}' if k == d else "{?}" for k in range(len(dims)))
            source = program(args, results, body, (name, f" {{sdy.sharding = #sdy.sharding<@mesh, [{sharding}]>}}"))
            whole = size_of(type_of(dims, dtype)[7:-1])
            label = label if sum(label in [n for n, _ in ds] for _, ds, _ in args) == len(args) or len(args) == 1 \
                else f"{label} of {name}"
            found.setdefault(classify(tool, source, whole), []).append(label)
    return found


def page(tool):
    alike, others = rules()
    lines = ["# What devices exchange", "",
             "Written by `tools/partitioning.py`, which divides each dimension of each operand of small programs over "
             f"{DEVICES} devices and reads the collectives of what one device computes.", "",
             "- **local**: a device computes its part of the results from its part of the operands;",
             "- **sum**: it computes a term, and an all-reduce (or reduce-scatter) adds them;",
             "- **exchange**: it gets elements of other devices, fewer than the operand has in all;",
             "- **gather**: every device gets the whole operand.", "",
             "Results of these programs are whole on every device if no operand divides them; that they are gathered "
             "at the end is not shown.", "",
             "Sizes that constraints inside of a program divide need not be multiples of the parts: the last parts are shorter, or "
             "empty, and masked where an operation combines elements. Operations that cannot take such parts (custom calls, groups "
             "of several features of a convolution) get parts of equal size over fewer "
             "axes.", "",
             "| operation | | local | sum | exchange | gather |", "|---|---|---|---|---|---|"]
    for row in ROWS:
        found = answers(tool, row)
        cells = " | ".join(", ".join(dict.fromkeys(found.get(k, []))) for k in ("local", "sum", "exchange", "gather"))
        lines.append(f"| {row[0]} | {row[1]} | {cells} |")
    lines += ["", "Elementwise operations are local along every dimension: " +
              ", ".join(op for op in alike if op not in NOTES_OPS) + ".", ""]
    lines += [f"- {title} ({', '.join(ops.split())}): {note}." for title, (ops, note) in NOTES.items()]
    missing = [op for op in others if op not in NOTES_OPS and op not in {r[0] for r in ROWS}]
    if missing:
        sys.exit(f"partitioning: no row for {', '.join(missing)}")
    return "\n".join(lines) + "\n"


NOTES_OPS = {op for ops, _ in NOTES.values() for op in ops.split()}


def main():
    text = page(sys.argv[1])
    if "--check" in sys.argv:
        if PAGE.read_text(encoding="utf-8") != text:
            sys.exit("docs/partitioning.md is stale: run make docs")
    else:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
