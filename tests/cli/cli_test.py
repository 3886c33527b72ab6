#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command-line tool from outside: verbs, inputs and outputs, exit status, one located error for
every kind of bad input.  The path of the tool is the first argument."""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import unittest
from unittest import mock

from tool import ADD, SORT, ToolTest, call

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAMS = ROOT / "tests" / "programs" / "one-device"
TOOL = sys.argv.pop(1)

# Of a constant, of a loop over many elements (on several threads), of a library function.
SMALL = """func.func @main(%a: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %c = stablehlo.constant dense<1.5e-38> : tensor<f32>
  %h = stablehlo.constant dense<0.5> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %l = stablehlo.constant dense<-1.0> : tensor<f32>
  %0 = stablehlo.multiply %c, %h : tensor<f32>
  %b = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<3000x100xf32>
  %1 = stablehlo.multiply %b, %b : tensor<3000x100xf32>
  %2 = stablehlo.add %b, %1 : tensor<3000x100xf32>
  %3 = stablehlo.reduce(%2 init: %l) applies stablehlo.maximum across dimensions = [0, 1]
      : (tensor<3000x100xf32>, tensor<f32>) -> tensor<f32>
  %m = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
  %i = stablehlo.iota dim = 0 : tensor<2x2xf32>
  %j = stablehlo.iota dim = 1 : tensor<2x2xf32>
  %k = stablehlo.compare EQ, %i, %j : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
  %y = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
  %d = stablehlo.select %k, %m, %y : tensor<2x2xi1>, tensor<2x2xf32>
  %e = "stablehlo.cholesky"(%d) <{lower = true}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %f = stablehlo.slice %e [0:1, 0:1] : (tensor<2x2xf32>) -> tensor<1x1xf32>
  %g = stablehlo.reshape %f : (tensor<1x1xf32>) -> tensor<f32>
  return %0, %3, %g : tensor<f32>, tensor<f32>, tensor<f32>
}
"""

# What examples/*.tile compute.
TILE_EXAMPLES = {"softmax": """func.func @main(%x: tensor<64x200xf32>) -> tensor<64x200xf32> {
  %l = stablehlo.constant dense<0xff800000> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %l) applies stablehlo.maximum across dimensions = [1]
      : (tensor<64x200xf32>, tensor<f32>) -> tensor<64xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> tensor<64x200xf32>
  %d = stablehlo.subtract %x, %b : tensor<64x200xf32>
  %e = stablehlo.exponential %d : tensor<64x200xf32>
  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1]
      : (tensor<64x200xf32>, tensor<f32>) -> tensor<64xf32>
  %t = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> tensor<64x200xf32>
  %r = stablehlo.divide %e, %t : tensor<64x200xf32>
  return %r : tensor<64x200xf32>
}
""", "attention_block": """func.func @main(%q: tensor<64x32xf32>, %k: tensor<128x32xf32>, %v: tensor<128x32xf32>)
    -> tensor<64x32xf32> {
  %l = stablehlo.constant dense<0xff800000> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %c = stablehlo.constant dense<0.17677669> : tensor<64x128xf32>
  %p = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1]
      : (tensor<64x32xf32>, tensor<128x32xf32>) -> tensor<64x128xf32>
  %x = stablehlo.multiply %p, %c : tensor<64x128xf32>
  %m = stablehlo.reduce(%x init: %l) applies stablehlo.maximum across dimensions = [1]
      : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %d = stablehlo.subtract %x, %b : tensor<64x128xf32>
  %e = stablehlo.exponential %d : tensor<64x128xf32>
  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1]
      : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %t = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %w = stablehlo.divide %e, %t : tensor<64x128xf32>
  %r = stablehlo.dot_general %w, %v, contracting_dims = [1] x [0]
      : (tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>
  return %r : tensor<64x32xf32>
}
"""}

# Rows of the input, doubled through scratch memory from a row on that is known at run time; a count.
SCALE = """kernel scale version 3 {
  buffer f32[4, 8]
  buffer s32[1] prefetch
  buffer f32[4, 8] out
  buffer s32[1] out
  %0 = reference 0 : f32[4, 8]
  %1 = reference 3 : s32[1]
  %2 = alloc near : f32[4, 8]
  copy %0, %2
  %3 = load 1 [0] : s32
  %4 = constant 0x00000001 : s32
  for d0 = 0..4 by 1 {
    %5 = atomic add [0] %1, %4 : s32
  }
  for d1 = 0..4 by 4 {
    for d2 = 0..8 by 8 {
      %6 = ref_load [d1, d2] %2 : f32
      %7 = index [d1] : s32
      %8 = map compare LT %7, %3 : pred
      %9 = map add %6, %6 : f32
      %10 = map select %8, %6, %9 : f32
      print "rows" %10
      store 2 [8*d1 + d2] %10
    }
  }
}
"""

# Blocks of a product of integers; a parallel loop over blocks of rows.
PRODUCT = """kernel product version 3 {
  buffer s32[32, 40]
  buffer s32[40, 45]
  buffer s32[32, 45] out
  %0 = reference 0 : s32[32, 40]
  %1 = reference 1 : s32[40, 45]
  %2 = reference 2 : s32[32, 45]
  parallel d0 = 0..4 by 1 {
    %3 = slice [8*d0, 0] sizes [8, 40] %0 : s32[8, 40]
    %4 = slice [8*d0, 0] sizes [8, 45] %2 : s32[8, 45]
    mma [1] x [0] %4, %3, %1
  }
}
"""

# The bits of a factor depend on the lanes that its sums run over.
CHOLESKY = """func.func @main(%a: tensor<96x96xf32>) -> tensor<96x96xf32> {
  %0 = "stablehlo.dot_general"(%a, %a) <{dot_dimension_numbers = #stablehlo.dot<
      lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}>
      : (tensor<96x96xf32>, tensor<96x96xf32>) -> tensor<96x96xf32>
  %1 = "stablehlo.cholesky"(%0) <{lower = true}> : (tensor<96x96xf32>) -> tensor<96x96xf32>
  return %1 : tensor<96x96xf32>
}
"""

# A loop of 100 turns, each a product and a sort.
LOOP = """func.func @main(%a: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<16x16xf32>
  cond {
    %n = stablehlo.constant dense<100> : tensor<i32>
    %0 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0]
        : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %3 = "stablehlo.sort"(%2) <{dimension = 1 : i64}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %4 = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }) : (tensor<16x16xf32>) -> tensor<16x16xf32>
    stablehlo.return %1, %3 : tensor<i32>, tensor<16x16xf32>
  }
  return %r#1 : tensor<16x16xf32>
}
"""

# (name, text, exact place, part of the message)
BAD_PROGRAMS = [
    ("wrong arity", 'func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n'
     '  %0 = "stablehlo.add"(%a) : (tensor<2xf32>) -> tensor<2xf32>\n'
     '  return %0 : tensor<2xf32>\n}\n', "2:8", "2 expected"),
    ("unknown op", 'func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n'
     '  %0 = stablehlo.ad %a, %a : tensor<2xf32>\n'
     '  return %0 : tensor<2xf32>\n}\n', "2:8", "stablehlo.ad"),
    ("unknown attribute", 'func.func @main() -> tensor<2xf32> {\n'
     '  %0 = "stablehlo.iota"() <{iota_dimensoin = 0 : i64}> : () -> tensor<2xf32>\n'
     '  return %0 : tensor<2xf32>\n}\n', "2:29", "iota_dimensoin"),
    ("mismatched shapes", 'func.func @main(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {\n'
     '  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>\n'
     '  return %0 : tensor<2xf32>\n}\n', "2:8", "shape"),
    ("2^60 elements", 'func.func @main() -> tensor<1152921504606846976xf32> {\n'
     '  %0 = stablehlo.iota dim = 0 : tensor<1152921504606846976xf32>\n'
     '  return %0 : tensor<1152921504606846976xf32>\n}\n', "2:8", "memory"),
    ("constant of 2^60 elements", 'func.func @main() -> tensor<1152921504606846976xi8> {\n'
     '  %0 = stablehlo.constant dense<1> : tensor<1152921504606846976xi8>\n'
     '  return %0 : tensor<1152921504606846976xi8>\n}\n', "2:38", "memory"),
    ("failed check", 'func.func @main() {\n  %0 = stablehlo.constant dense<1> : tensor<i32>\n'
     '  %1 = stablehlo.constant dense<2> : tensor<i32>\n'
     '  check.expect_eq %0, %1 : tensor<i32>\n  return\n}\n', "4:3", "check.expect_eq"),
]


def tool(*args, stdin=""):
    return call(TOOL, *args, stdin=stdin)


class CliTest(ToolTest):
    TOOL = TOOL

    # ---- run

    def test_run_values(self):
        out = self.good("run", "--input=2x3xf32=1,2,3,4,5,6", "--input", "2x3xf32=10", "--print",
                        stdin=ADD)
        self.assertIn("1.100000e+01", out)
        self.assertIn("tensor<2x3xf32>", out)

    def test_perf_finds_the_names_of_generated_code(self):
        with subprocess.Popen([TOOL, "run", "--random", "--perf=1", "--backend=native"], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            error = process.communicate(ADD, timeout=900)[1]
        self.assertEqual(process.returncode, 0, error)
        path = pathlib.Path(f"/tmp/perf-{process.pid}.map")
        if " sse2" not in self.good("info"):
            return  # interpreted
        names = path.read_text(encoding="utf-8")
        path.unlink()
        self.assertIn("main::entry", names)

    def test_run_nested_and_other_types(self):
        text = ADD.replace("2x3xf32", "2x2xcomplex<f32>")
        out = self.good("run", "--input=2x2xc64=[[(1,2) 3][(0,-1) 1e3]]",
                        "--input=2x2xcomplex<f32>=0", "--print", stdin=text)
        self.assertIn("(1.000000e+00,2.000000e+00)", out.replace(", 2", ",2"))
        text = ADD.replace("2x3xf32", "2xi1").replace("stablehlo.add", "stablehlo.and")
        self.assertIn("dense<[true, false]>",
                      self.good("run", "--input=2xi1=1,0", "--input=2xpred=true", "--print",
                                stdin=text))

    def test_run_random_is_repeatable(self):
        args = ("run", "--random", "--print")
        self.assertEqual(self.good(*args, stdin=ADD), self.good(*args, stdin=ADD))
        self.assertNotEqual(self.good(*args, stdin=ADD), self.good(*args, "--seed=7", stdin=ADD))

    def test_subnormals(self):
        for backend in ("interp", "native", "vir", "tile", *["c"] * bool(shutil.which("cc"))):
            for mode, option in (("flush", []), ("flush", ["--subnormals=flush"]), ("keep", ["--subnormals=keep"])):
                out = self.good("run", f"--backend={backend}", *option, "--input=f32=1e-40", "--print", stdin=SMALL)
                values = re.findall(r"dense<([^>]*)>", out)
                is_kept = [v != "0x7FC00000" and float(v) != 0 for v in values]  # no matrix of zeros has a factor
                self.assertEqual(is_kept, [mode == "keep"] * 3, (backend, option, out))
        self.assertIn("expected one of: flush,keep", self.bad(2, "run", "--subnormals=kept", stdin=SMALL))

    def test_library_functions_are_of_the_processor_asked_for(self):
        order = ("generic", "sse2", "sse4", "avx2", "avx512", "amx")
        here = re.search(r"features: \w+ (\w+):", self.good("info")).group(1)
        levels = [level for level in ("sse2", "avx2", "avx512")
                  if order.index(level) <= order.index(here)]
        for backend in ("interp", "native"):
            factors = {}
            for level in levels:
                saved = self.folder / f"{level}.npy"
                self.good("run", "--random", f"--backend={backend}", f"--cpu={level}",
                          f"--output=@{saved}", stdin=CHOLESKY)
                factors[level] = saved.read_bytes()
            # Sanitized loops are not vectorised: there the levels with FMA give the same factors.
            different = min(2, len(levels)) if "ASAN_OPTIONS" in os.environ else len(levels)
            if backend == "interp":  # computes by textbook methods, without library functions
                different = 1
            self.assertEqual(len(set(factors.values())), different, (backend, levels))

    def test_run_npy(self):
        saved = self.folder / "sum.npy"
        self.good("run", "--input=2x3xf32=1,2,3,4,5,6", "--input=2x3xf32=0", f"--output=@{saved}",
                  stdin=ADD)
        data = saved.read_bytes()
        self.assertTrue(data.startswith(b"\x93NUMPY\x01\x00"))
        self.assertIn(b"'descr': '<f4', 'fortran_order': False, 'shape': (2, 3,)", data)
        self.assertEqual(len(data) % 64, 24)
        self.assertEqual(struct.unpack("<6f", data[-24:]), (1, 2, 3, 4, 5, 6))
        column = data.replace(b"False", b"True ")
        turned = self.write("column.npy", column)
        out = self.good("run", f"--input=@{saved}", f"--input=@{turned}", "--print", stdin=ADD)
        self.assertIn("[[2.000000e+00, 5.000000e+00, 8.000000e+00], [6.000000e+00,", out)

    def test_run_function_and_devices(self):
        text = ("func.func @first() -> tensor<ui32> {\n  %0 = stablehlo.replica_id : tensor<ui32>\n"
                "  return %0 : tensor<ui32>\n}\nfunc.func @second() {\n  return\n}\n")
        self.assertIn("--function", self.bad(1, "run", stdin=text.replace("()", "(%x: tensor<i32>)")))
        self.assertIn("@third", self.bad(1, "run", "--function=@third", stdin=text))
        out = self.good("run", "--function=@first", "--device-count=3", "--print", stdin=text)
        self.assertIn("process 2: result 0 = dense<2>", out)

    def test_run_partitions(self):
        text = ("module attributes {mhlo.num_partitions = 4 : i32} {\n  sdy.mesh @m = <[\"x\"=4]>\n"
                "  func.func @main(%x: tensor<8xi32> {sdy.sharding = #sdy.sharding<@m, [{\"x\"}]>}) -> "
                "(tensor<8xi32> {sdy.sharding = #sdy.sharding<@m, [{\"x\"}]>}, tensor<ui32>) {\n"
                "    %0 = stablehlo.negate %x : tensor<8xi32>\n"
                "    %1 = stablehlo.replica_id : tensor<ui32>\n"
                "    return %0, %1 : tensor<8xi32>, tensor<ui32>\n  }\n}\n")
        values = "--input=8xi32=1,2,3,4,5,6,7,8"
        out = self.good("run", values, "--device-count=4", "--print", stdin=text)
        self.assertEqual(out, "result 0 = dense<[-1, -2, -3, -4, -5, -6, -7, -8]> : tensor<8xi32>\n"
                              "result 1 = dense<0> : tensor<ui32>\n")
        out = self.good("run", values, "--device-count=8", "--print", stdin=text)
        self.assertIn("process 1: result 0 = dense<[-1, -2, -3, -4, -5, -6, -7, -8]>", out)
        self.assertIn("process 1: result 1 = dense<1>", out)
        self.assertNotIn("process 2", out)
        manual = ("    %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{\"x\"}]>] out_shardings=[<@m, [{\"x\"}]>] "
                  "manual_axes={\"x\"} (%y: tensor<2xi32>) {\n      %2 = stablehlo.negate %y : tensor<2xi32>\n"
                  "      sdy.return %2 : tensor<2xi32>\n    } : (tensor<8xi32>) -> tensor<8xi32>\n")
        text = text.replace("    %0 = stablehlo.negate %x : tensor<8xi32>\n", manual)
        self.assertIn("-8", self.good("run", values, "--device-count=4", "--print", stdin=text))
        self.assertIn("on its 4 devices with --device-count=4", self.bad(1, "run", values, stdin=text))

    def test_run_devices(self):
        program = str(ROOT / "tests" / "programs" / "eight-devices" / "reduce_scatter_8.mlirbc")
        devices = ("run", "--device-count=8", "--random", "--print")
        out = self.good(*devices, program)
        self.assertEqual(out, self.good(*devices, "--backend=interp", program))
        profiled = ("run", "--device-count=8", "--random", "--profile")
        self.assertIn("step: ", self.good(*profiled, program))
        self.assertNotIn("step: ", self.good(*profiled, "--backend=interp", program))
        # Runs leave the arguments, even those that the program gives up for a result.
        text = ("module attributes {mhlo.num_replicas = 2 : i32} {\n  func.func @main(%x: tensor<3xi4> "
                "{tf.aliasing_output = 0 : i32}) -> tensor<3xi4> {\n"
                "    %0 = stablehlo.add %x, %x : tensor<3xi4>\n    return %0 : tensor<3xi4>\n  }\n}\n")
        out = self.good("run", "--input=3xi4=1,-2,3", "--device-count=2", "--bench=3", "--print", stdin=text)
        self.assertIn("process 1: result 0 = dense<[2, -4, 6]> : tensor<3xi4>", out)
        # The interpreter runs what other back ends refuse.
        out = self.good("run", "--input=2xi4=1,2", "--device-count=2", "--print", stdin=text.replace("tensor<3xi4>", "tensor<?xi4>"))
        self.assertIn("process 1: result 0 = dense<[2, 4]> : tensor<2xi4>", out)
        check = text.replace("    return", "    check.expect_eq %0, %x : tensor<3xi4>\n    return")
        self.assertIn("expect_eq", self.bad(1, "run", "--input=3xi4=1", "--device-count=2", stdin=check))

    def test_run_tests(self):
        text = "".join(f"func.func {kind}@{name}({input}) -> tensor<i32> {{\n"
                       f"  %0 = stablehlo.constant dense<{value}> : tensor<i32>\n"
                       f"  %1 = stablehlo.constant dense<1> : tensor<i32>\n{check}"
                       "  return %0 : tensor<i32>\n}\n"
                       for kind, name, input, value, check in [
                           ("", "a", "", 1, "  check.expect_eq %0, %1 : tensor<i32>\n"),
                           ("private ", "b", "", 2, ""), ("", "c", "%x: tensor<i32>", 3, ""),
                           ("", "d", "", 4, "")])
        out = self.good("run", "--print", stdin=text)
        self.assertEqual(re.findall(r"^@(\w): result 0 = dense<(\d)>", out, re.M),
                         [("a", "1"), ("d", "4")])
        self.assertIn("check.expect_eq", self.bad(1, "run", stdin=text.replace("dense<1>", "dense<7>", 1)))

    def test_run_bench(self):
        self.assertIn("3 runs", self.good("run", "--random", "--bench=3", stdin=ADD))

    def test_run_profile(self):
        out = self.good("run", "--random", "--bench=3", "--profile", stdin=ADD)
        self.assertRegex(out, r"(?m)^ +4 +[\d.]+ +[\d.]+% +execute: ")
        self.assertRegex(out, r"(?m)^ +1 +[\d.]+ +[\d.]+% +compile: back end$")
        self.assertRegex(out, r"(?m)^ +4 +[\d.]+ +[\d.]+% +[\d.]+ +[\d.]+ +[\d.]+%  step: fusion 0: add")
        self.assertNotIn("share", self.good("run", "--random", stdin=ADD))

    def test_run_profile_counts_steps_of_loops(self):
        for backend in ("native", "vir", "tile", "c"):
            with self.subTest(backend):
                out = self.good("run", "--random", "--profile", f"--backend={backend}", stdin=LOOP)
                steps = dict((name.strip(), int(count)) for count, name in
                             re.findall(r"(?m)^ +(\d+) .*  step: \w+ \d+: ([\w, ]+)", out))
                self.assertEqual(steps["while"], 1)
                self.assertEqual(steps["sort"], 100)
                self.assertEqual(steps["dot_general"], 100)

    def test_run_inputs_that_do_not_fit(self):
        self.assertIn("has 2 inputs, but 0 are given", self.bad(1, "run", stdin=ADD))
        self.assertIn("has 2 inputs, but 3 are given",
                      self.bad(1, "run", *["--input=2x3xf32=0"] * 3, stdin=ADD))
        for value, part in [("2x3xf32=1,2", "6 elements, but 2 are given"), ("2x3xf23=1", "invalid shape"),
                            ("2x3xf32=1,x", "'x'"), ("2x3xf32", "no elements"),
                            ("6xf32=1", "input 0 of @main: found a tensor<6xf32>, expected a tensor<2x3xf32>"),
                            ("2x3xi8=1,2,3,4,5,128", "invalid element '128' of type i8"),
                            ("2x3xui8=-1", "invalid element '-1'"),
                            ("2x3xi64=9223372036854775808", "invalid element"), ("@no-such.npy", "no-such.npy"),
                            (f"@{self.write('x.npy', b'text')}", "not a NumPy file"),
                            ("99999999999x99999999999xf32=1", "")]:
            self.assertIn(part, self.bad(1, "run", f"--input={value}", "--random", stdin=ADD))

    # ---- bad programs

    def test_bad_programs(self):
        for name, text, place, part in BAD_PROGRAMS:
            with self.subTest(name):
                path = self.write("bad.mlir", text)
                message = self.bad(1, "run", path)
                self.assertIn(f"{path}:{place}: ", message)
                self.assertIn(part, message)

    def test_truncated_bytecode(self):
        whole = next(iter(sorted(PROGRAMS.glob("*.mlirbc")))).read_bytes()
        for size in (5, 100, len(whole) // 2, len(whole) - 1):
            path = self.write("cut.mlirbc", whole[:size])
            for verb in ("run", "check", "compile"):
                self.assertTrue(self.bad(1, verb, path).startswith(f"{path}: error: "))

    def test_no_program(self):
        self.assertIn("neither", self.bad(1, "run", stdin=""))
        self.assertIn("nowhere.mlir", self.bad(1, "run", "nowhere.mlir"))

    # ---- other verbs

    def test_check_and_print(self):
        self.assertIn("ok", self.good("check", "-", stdin=ADD))
        text = self.good("translate", stdin=ADD)
        self.assertEqual(text, self.good("opt", stdin=text))
        self.assertIn('"stablehlo.add"', self.good("translate", "--generic", stdin=ADD))
        saved = self.folder / "out.mlir"
        self.assertEqual(self.good("opt", "-o", saved, stdin=ADD), "")
        self.assertEqual(saved.read_text(), text)
        self.assertIn("expected", self.bad(1, "translate", "--to=onnx", stdin=ADD))
        self.assertIn("the back ends are native, interp",
                      self.bad(1, "run", "--random", "--backend=nativ", stdin=ADD))

    def test_hlo(self):
        text = self.good("translate", "--to=hlo", stdin=ADD)
        self.assertIn("ROOT %add.3 = f32[2,3]{1,0} add(%Arg.1, %Arg.2)", text)
        self.assertEqual(self.good("translate", "--to=hlo", stdin=text), text)
        proto = self.folder / "add.pb"
        self.good("translate", "--to=hlo-proto", "-o", proto, stdin=ADD)
        self.assertEqual(self.good("translate", "--to=hlo", proto), text)
        self.assertIn("expected", self.bad(1, "translate", "--to=bytecode", stdin=ADD))
        replicated = text.replace("parameter(0)", "parameter(0), parameter_replication={true}")
        self.good("translate", "--to=hlo-proto", "-o", proto, stdin=replicated)
        self.assertEqual(self.good("translate", "--to=hlo", proto), replicated)

    def test_elided_constants(self):
        hlo = ("HloModule m\nENTRY e {\n  a = f32[300,2] constant({...})\n  b = f32[300,2] constant({...})\n"
               "  ROOT t = (f32[300,2], f32[300,2]) tuple(a, b)\n}\n")
        self.assertIn("--elided-constants=zero", self.bad(1, "run", stdin=hlo))
        self.assertIn("3:", self.bad(1, "compile", stdin=hlo))
        self.assertIn("expected zero or random", self.bad(1, "check", "--elided-constants=0", stdin=hlo))
        self.assertEqual(self.good("run", "--print", "--elided-constants=zero", stdin=hlo).count("dense<0.0"), 2)
        self.good("compile", "--elided-constants=random", stdin=hlo)
        random = self.good("translate", "--elided-constants=random", stdin=hlo)
        self.assertEqual(random, self.good("translate", "--elided-constants=random", stdin=hlo))
        first, second = [line.split("dense")[1] for line in random.splitlines() if "dense" in line]
        self.assertNotEqual(first, second)
        text = self.good("translate", "--elide=9", "--elided-constants=random", stdin=hlo)
        self.assertEqual(text.count("__elided__"), 2)
        refused = tool("opt", stdin=text)
        self.assertEqual((refused.returncode, refused.stderr.count("error: ")), (1, 2))
        self.assertIn("dense<0.0", self.good("opt", "--elided-constants=zero", stdin=text))
        self.good("compile", "--elided-constants=random", stdin=text)

    def test_programs_of_jax(self):
        for name in ("add_scalar", "mlp_train_digits"):
            self.assertIn("ok", self.good("check", PROGRAMS / f"{name}.mlirbc"))
        text = self.good("compile", "--backend=native", PROGRAMS / "mlp_train_digits.mlirbc")
        self.assertIn("flops", text)
        self.assertIn("back end: native\n", text)

    def test_who_runs_it(self):
        sized = ("func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<i32> {\n"
                 "  %0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4xf32>, tensor<i32>) -> tensor<?xf32>\n"
                 "  %1 = stablehlo.get_dimension_size %0, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n"
                 "  return %1 : tensor<i32>\n}\n")
        cause = "set_dimension_size: a shape is known only when running"
        text = self.good("compile", f"--dump=plan:{self.folder / 'plans'}", stdin=sized)
        self.assertRegex(text, f"back end: interp, because .*{cause}")
        plan, = (self.folder / "plans").iterdir()
        self.assertIn(f"{cause}\n", plan.read_text())
        self.assertIn(cause, self.bad(1, "compile", "--emit=plan", stdin=sized))

    def test_emit(self):
        path = self.write("add.mlir", ADD)
        for form, parts in [("tile", ["kernel fusion0", "map add %0, %1 : f32", "store 2 ["]),
                            ("plan", ["plan of @main", "fusion 0 {stablehlo.add} arg0 arg1 -> "]),
                            ("vir", ["entry", "load"]),
                            ("c", ["hlo_functions", "hlo_saved_bytes"])]:
            text = self.good("compile", f"--emit={form}", path)
            for part in parts:
                self.assertIn(part, text)
            self.good("compile", "--emit", form, "-o", self.folder / "text", path)
            self.assertEqual((self.folder / "text").read_text(), text)
        self.assertIn("expected", self.bad(1, "compile", "--emit=elf", path))
        self.assertIn("generates no code", self.bad(1, "compile", "--emit=c", "--backend=interp", path))
        self.assertIn("<stdin>:2:8: error: stablehlo.custom_call", self.bad(
            1, "run", "--random",
            stdin=ADD.replace("stablehlo.add %a, %b :", "stablehlo.custom_call @nobody(%a, %b) :")
            .replace(": tensor<2x3xf32>\n  return", ": (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>\n  return")))

    def test_simulate(self):
        for count in (1024, 8192):
            text = self.good("simulate", ROOT / "tests/programs/many-devices" / f"transformer_{count}.mlirbc")
            self.assertIn(f"devices: 1 replicas of {count} partitions", text)
            self.assertRegex(text, rf"all_reduce +tensor +{count // 8} of 8 +24 ")
            self.assertIn("partitioned in", text)
        program = ROOT / "tests/programs/eight-devices/scan_over_sharded.mlirbc"
        measured = self.write("machine.txt", self.good("simulate", "--calibrate", "--device-count=2"))
        self.assertIn("machine measured", self.good("simulate", f"--topology={measured}", program))
        self.assertIn("neither a machine", self.bad(1, "simulate", "--topology=nowhere", program))
        small = self.write("small.txt", "compute 1 1 1\nlevel x ring 4 1 1\n")
        self.assertIn("is for 8 devices, but machine topology has 4",
                      self.bad(1, "simulate", f"--topology={small}", program))
        wrong = self.write("wrong.txt", "compute 1 1 1\nlevel x star 4 1 1\n")
        self.assertIn("line 2 of the topology: expected switch or ring",
                      self.bad(1, "simulate", f"--topology={wrong}", program))

    def test_tune(self):
        if " sse2" not in self.good("info"):
            return
        program = self.write("tuned.mlir", """func.func @main(%a: tensor<300x400xf32>, %b: tensor<70x400xf32>)
    -> (tensor<300x70xf32>, tensor<300x400xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
      : (tensor<300x400xf32>, tensor<70x400xf32>) -> tensor<300x70xf32>
  %1 = stablehlo.logistic %a : tensor<300x400xf32>
  return %0, %1 : tensor<300x70xf32>, tensor<300x400xf32>
}
""")
        directory, log = self.folder / "tuned", self.folder / "log.txt"
        known = f"--tune_dir={directory}"
        listed = call(TOOL, "tune", "--dry-run", known, program).stdout
        self.assertRegex(listed, r"1 of 2: .*product in tiles(.|\n)*rows=\d+ vectors=\d+ .* untried")
        self.assertIn("refused: stablehlo.dot_general: the operand with the columns cannot be packed", listed)
        self.assertFalse(directory.exists())
        missing = call(TOOL, "compile", "--tune=expect", known, program)
        self.assertEqual(missing.returncode, 1)
        self.assertRegex(missing.stderr, "no tuned configuration for 2 of 2 kernels .*dot_general")
        tuned = call(TOOL, "tune", known, f"--log-candidates={log}", program)
        self.assertEqual((tuned.returncode, tuned.stderr), (0, ""))
        self.assertIn("0 of 2 kernels were in the store, 2 tuned, 0 of 2 not;", tuned.stdout)
        self.assertEqual(len(log.read_text().splitlines()), tuned.stdout.count(" equal in every bit") +
                         tuned.stdout.count(" within the bound") + tuned.stdout.count(" refused: "))
        self.assertEqual(len(list(directory.iterdir())), 2)
        found = call(TOOL, "compile", "--tune=expect", "--log=info", known, program)
        self.assertEqual(found.returncode, 0)
        self.assertIn("2 kernels found, 0 missing, 0 tuned, 0 failed, 0 candidates timed", found.stderr)
        for mode in ("off", "cache"):  # the same choices, the same bytes
            code = []
            for _ in range(2):
                self.good("compile", f"--tune={mode}", known, "-o", self.folder / "tuned.o", program)
                code.append((self.folder / "tuned.o").read_bytes())
            self.assertEqual(code[0], code[1])

    def test_compile_cache(self):
        if " sse2" not in self.good("info"):
            return
        folder = self.folder / "cache"
        for text, answer in [(ADD, False), ("\n\n" + ADD, True), (ADD.replace("2x3x", "3x2x"), False)]:
            said = self.good("compile", f"--cache-dir={folder}", "--backend=native", stdin=text)
            self.assertEqual("code: from the cache" in said, answer)
        self.assertEqual(len(list(folder.iterdir())), 2)

    def test_emit_standalone(self):
        header = self.folder / "add-2.h"
        source = self.good("compile", "--emit=c", f"--header={header}", stdin=ADD)
        self.assertIn("int add_2_run(const void* const* arguments, void* const* results) {", source)
        self.assertIn("arguments[1]: f32[2,3], 24 bytes", header.read_text())
        self.assertIn("--header needs -o FILE.c", self.bad(1, "compile", f"--header={header}", stdin=ADD))
        self.assertIn("2:8: error: stablehlo.sort: ", self.bad(
            1, "compile", "--emit=c", f"--header={header}", self.write("sort.mlir", SORT)))

    def test_emit_asm(self):
        if " sse2" not in self.good("info"):
            self.assertIn("this processor", self.bad(1, "compile", "--emit=asm", stdin=ADD))
            return
        path = self.write("add.mlir", ADD)
        text = self.good("compile", "--emit=asm", path)
        bare = subprocess.run([TOOL, "compile", "--emit=asm", path], capture_output=True, text=True,
                              env={"PATH": str(self.folder)}, timeout=900).stdout
        self.assertIn("objdump was not found", bare.splitlines()[0])
        place = f"  // stablehlo.add {path}:2:8"
        for listing in (text, bare):
            self.assertRegex(listing, r"\A// machine code of @main: \d+ functions?, \d+ bytes")
            self.assertIn(place, listing)
            self.assertIn("\nentry: // ", listing)
        if "no objdump" not in text:
            self.assertRegex(text, r"(?m)^ +[0-9a-f]+:( [0-9a-f]{2})+ +v?addps ")
        self.assertEqual(self.good("compile", "--emit=asm", path), text)

    def test_emit_ptx(self):
        text = self.good("compile", "--emit=ptx", "--target=sm_90a", stdin=ADD)
        self.assertRegex(text, r"^// \w+: \d+ threads\n\.version 8\.0\n\.target sm_90a\n")
        self.assertIn(".visible .entry", text)
        self.assertIn("add.rn", text)
        self.assertIn("sm_120f", self.bad(1, "compile", "--emit=ptx", "--target=sm_1", stdin=ADD))
        self.assertIn("need each other", self.bad(1, "compile", "--emit=ptx", stdin=ADD))
        self.assertIn("need each other", self.bad(1, "compile", "--target=sm_80", stdin=ADD))

    def test_absent_machines(self):
        if " sse2" not in self.good("info"):
            return
        for level in ("sse2", "avx2", "avx512", "amx"):
            self.assertIn("machine code of @main",
                          self.good("compile", f"--cpu={level}", "--emit=asm", stdin=ADD))
        info = self.good("info", "--cpu=avx2")
        self.assertNotIn("avx512", info)
        machine = self.write("machine.txt", re.sub(r"memory L2: .*", "memory L2: 96 KiB, 7 bytes/ns", info))
        self.assertIn("memory L2: 96 KiB, 7 bytes/ns\n", self.good("info", f"--cpu=@{machine}"))
        self.good("compile", f"--cpu=@{machine}", "--emit=asm", stdin=ADD)
        future = self.write("future.txt", info.replace(": sse2", ": amx_fp16 sse2"))
        self.assertIn("which this machine lacks", self.bad(1, "run", "--random", f"--cpu=@{future}", stdin=ADD))

    def tilings(self, arguments, result, body):
        module = f"func.func @main({arguments}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"
        text = self.good("compile", "--emit=tilings", "--cpu=avx2", stdin=module)
        return [line.strip() for line in text.splitlines() if not line.startswith("tile ")]

    def test_thresholds(self):
        table = self.good("info", "--tuning")
        self.assertRegex(table, r"(?m)^passes\n  FOLD_MAX_ELEMENTS +4096  elements +jit +constants ")
        rows = [line.split() for line in table.splitlines() if line.startswith(" ")]
        self.assertEqual(len({row[0] for row in rows}), len(rows))
        root = pathlib.Path(__file__).resolve().parents[2]
        judges = {"bound"} | {file.stem for file in (root / "bench").iterdir()}
        used = set(re.findall(r"HLO_TUNING_(\w+)", "".join(file.read_text() for file in root.glob("src/**/*.[ch]"))))
        for line in table.splitlines():
            if line.startswith(" "):
                self.assertIn(line.split()[0], used)
                self.assertIn(line[70:83].strip(), judges, line)

    def test_tilings(self):
        if " avx2" not in self.good("info"):
            return
        zero = "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        # Rows and columns that nothing tells apart are one dimension.
        exponential = self.tilings("%x: tensor<1000x10xf32>", "tensor<1000x10xf32>",
                                   "%r = stablehlo.exponential %x : tensor<1000x10xf32>")
        self.assertEqual(exponential[1].split(":")[0], "parallel 10000")
        a, b = "tensor<2304x16x768xf32>", "tensor<16x16x768xf32>"
        dot = self.tilings(f"%a: {a}, %b: {b}", "tensor<16x2304x16xf32>",
                           "%r = stablehlo.dot_general %a, %b, batching_dims = [1] x [1], contracting_dims = [2] x [2] "
                           f": ({a}, {b}) -> tensor<16x2304x16xf32>")
        self.assertEqual([line.split(":")[0] for line in dot],
                         ["fusion0", "parallel 16", "parallel 2304", "parallel 16", "sequential 768"])
        reduce = self.tilings("%x: tensor<150x20x10x50xf32>", "tensor<150x10xf32>",
                              zero + "%r = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across "
                              "dimensions = [3, 1] : (tensor<150x20x10x50xf32>, tensor<f32>) -> tensor<150x10xf32>")
        self.assertEqual([line.split(":")[0] for line in reduce[:4]],
                         ["fusion0", "parallel 150", "parallel 10", "sequential 1000 = 50 x 20"])
        self.assertEqual(reduce[4], f"{9 * 5} tilings whose results stay in the first cache")
        index = "tensor<i32>"
        part = self.tilings(f"%x: tensor<2x2x258xf32>, %i: {index}, %j: {index}, %k: {index}", "tensor<1x2x32xf32>",
                            "%s = stablehlo.dynamic_slice %x, %i, %j, %k, sizes = [1, 2, 32] : "
                            f"(tensor<2x2x258xf32>, {index}, {index}, {index}) -> tensor<1x2x32xf32>\n"
                            "%r = stablehlo.negate %s : tensor<1x2x32xf32>")
        self.assertEqual(part[:5], ["fusion0", "parallel 2: tiles of 1, 2", "parallel 32: tiles of 1, 2, 4, 8, 16, 32",
                                    "value 0 to 1: input 1", "value 0 to 226: input 3"])
        # Tiles of what an index makes digits of are whole in them: 4, 8, 16 and 32 are not.
        turned = self.tilings("%x: tensor<6x8xf32>", "tensor<48xf32>",
                              "%t = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x8xf32>) -> tensor<8x6xf32>\n"
                              "%n = stablehlo.negate %t : tensor<8x6xf32>\n"
                              "%r = stablehlo.reshape %n : (tensor<8x6xf32>) -> tensor<48xf32>")
        self.assertEqual(turned[1:], ["parallel 48 = 8 x 6: tiles of 1, 2, 48",
                                      "3 tilings whose results stay in the first cache"])
        joined = self.tilings("%x: tensor<8x6xf32>, %y: tensor<48xf32>", "tensor<48xf32>",
                              "%t = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>\n"
                              "%f = stablehlo.reshape %t : (tensor<6x8xf32>) -> tensor<48xf32>\n"
                              "%r = stablehlo.add %f, %y : tensor<48xf32>")
        self.assertEqual(joined[1], "parallel 48 = 6 x 8: tiles of 1, 2, 4, 8, 16, 32, 48")
        rows = "(tensor<7x9xf32>, tensor<4x9xf32>) -> tensor<11x9xf32>"
        pieces = self.tilings("%x: tensor<7x9xf32>, %y: tensor<4x9xf32>", "tensor<11x9xf32>",
                              f"%c = stablehlo.concatenate %x, %y, dim = 0 : {rows}\n"
                              "%r = stablehlo.negate %c : tensor<11x9xf32>")
        self.assertEqual(pieces[3:5], ["piece 0: 0..7 0..9", "piece 1: 7..11 0..9"])

    def test_updates_from_the_same_array(self):
        if " sse2" not in self.good("info"):
            return
        loops = (ROOT / "tests" / "codegen" / "loops.mlir").read_text().split("// -----")
        module = next(text for text in loops if "from a sum of all: updated in place" in text)
        plan = self.good("compile", "--emit=plan", stdin=module)
        body = plan[plan.index("  region 1"):plan.index("  return result0 result1")]
        self.assertNotIn("copy 960 bytes", body)

    def test_options_of_collectives(self):
        permute = ('"stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1], [1, 0]]> : '
                   'tensor<2x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>')
        module = f"""func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
  %p = {permute}
  %q = {permute}
  %r = stablehlo.sine %p : tensor<4xf32>
  return %r, %q : tensor<4xf32>, tensor<4xf32>
}}
"""
        def plan(**options):
            with mock.patch.dict(os.environ, {f"HLOCC_{name.upper()}": value for name, value in options.items()}):
                return self.good("compile", "--device-count=2", "--emit=plan", stdin=module)
        end, own = "optimization_barrier", "copy 16 bytes arg0 -> collective+"
        for sync, is_split in (("", True), ("all", False), ("collective_permute", False), ("all_reduce", True)):
            self.assertEqual(end in plan(sync_collectives=sync), is_split, sync)
        for memory, is_own in (("", False), ("all", True), ("all_reduce,collective_permute", True), ("all_reduce", False)):
            self.assertEqual(own in plan(collective_memory=memory), is_own, memory)
        with mock.patch.dict(os.environ, HLOCC_COLLECTIVE_MEMORY="all_reduces"):
            error = self.bad(1, "compile", "--device-count=2", "--emit=plan", stdin=module)
        self.assertIn("option collective_memory: 'all_reduces' is no collective", error)

    def test_code_names_its_operations(self):
        text = self.good("compile", "--emit=vir", stdin="""func.func @main(%x: tensor<64x128xf32>,
    %w: tensor<128x32xf32>) -> (tensor<64x32xf32>, tensor<64xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>
  %1 = stablehlo.tanh %0 : tensor<64x32xf32>
  %2 = stablehlo.exponential %x : tensor<64x128xf32>
  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [1]
      : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %4 = stablehlo.sine %3 : tensor<64xf32>
  return %1, %4 : tensor<64x32xf32>, tensor<64xf32>
}
""")
        sites = set(re.findall(r"; debug (\d+)", text))
        self.assertEqual(len(sites), 5, "product, tanh, exponential, sum and sine are each somewhere")

    def test_passes(self):
        self.assertIn("drop_shardy", self.good("passes"))
        self.good("opt", "--passes=drop_shardy", "--verify-each", stdin=ADD)
        self.assertIn("'drop_shardy'", self.bad(1, "opt", "--passes=drop_shrady", stdin=ADD))
        self.good("opt", "--pipeline=native", "--verify-each", stdin=ADD)
        self.assertIn("'nativ'", self.bad(1, "opt", "--pipeline=nativ", stdin=ADD))
        done = tool("opt", "--passes=drop_shardy", "--print-after-all", stdin=ADD)
        self.assertIn("drop_shardy: unchanged", done.stderr)

    def test_pages_and_info(self):
        self.assertIn("stablehlo.add", self.good("ops"))
        self.assertIn("| `stablehlo.add` | add |", self.good("ops", "--markdown"))
        self.assertIn("HLOCC_NUM_THREADS", self.good("config", "--markdown"))
        self.assertIn("num_threads=3", self.good("config", "--num-threads=3"))
        self.assertIn("hlocc ", self.good("info"))
        self.assertEqual(self.good("--version"), self.good("info"))

    def test_manual_pages_are_complete(self):
        def page(section):
            text = (ROOT / "docs" / "man" / f"hlocc.{section}").read_text(encoding="utf-8")
            return text.replace("\\", "").replace('"', "")

        for line in self.good("config").splitlines():
            self.assertIn(re.search(r"HLOCC_\w+", line).group(), page(7))
        for verb in re.findall(r"^  (\w+) ", self.good("--help"), re.M):
            self.assertIn(verb, page(1))
            for option in re.findall(r"^  (--?[a-z-]+)", self.good(verb, "--help"), re.M):
                self.assertIn(option, page(1))
        header = (ROOT / "include" / "hlocc" / "hlocc.h").read_text(encoding="utf-8")
        for name in re.findall(r"^HLOCC_API [^;(]*?\b(hlocc_\w+)\(", header, re.M):
            self.assertIn(name + "(", page(3))

    # ---- places in code

    def test_pc(self):
        path = self.write("add.mlir", ADD)
        if " sse2" not in self.good("info"):
            self.assertIn("this processor", self.bad(1, "info", "--pc=0", path))
            return
        listing = self.good("compile", "--emit=asm", path)
        offset = re.search(r"// stablehlo.add \S+\n *([0-9a-f]+):", listing)[1]
        said = self.good("info", f"--pc=0x{offset}", path)
        self.assertRegex(said, rf"^entry\+0x{offset}: stablehlo.add \S*add.mlir:2:8\n$")
        self.assertEqual(self.good("info", f"--pc=main::entry+{int(offset, 16)}", path), said)
        for place, message in [("0x99999", "outside the code"), ("entry+0x9999", "outside the code"),
                               ("chunk7+1", "no function 'chunk7'"), ("entry", "is invalid"),
                               ("1x", "is invalid")]:
            self.assertIn(message, self.bad(1, "info", f"--pc={place}", path))
        self.assertIn("generates no code", self.bad(1, "info", "--backend=interp", "--pc=0", path))
        for words in [("--pc=0",), (path,)]:
            self.assertIn("needs both --pc", self.bad(1, "info", *words))

    # ---- kernels of Tile IR

    def test_tile(self):
        path = self.write("scale.tile", SCALE)
        args = ["--print", "--input=4x8xf32=2", "--input=1xs32=1", path]
        said = self.good("run", *args)
        self.assertRegex(said, r"rows %\d+ f32 <4x8 \| .*>: (2 ){8}(4 ){23}4\n")
        self.assertRegex(said, r"result 0 = dense<\[\[2\.0.*, 4\.0\w+\+00\]\]> : tensor<4x8xf32>")
        self.assertIn("result 1 = dense<4> : tensor<1xi32>", said)
        self.assertEqual(said, self.good("run", "--find-races", *args))
        self.assertIn("ok, kernel scale, version 3, 17 operations", self.good("check", path))
        self.assertRegex(self.good("opt", path), r"ref_load \[d1, d2\] %2 : f32 <4x8")
        self.assertIn("@scale: 3 runs, least", self.good("run", "--random", "--bench=3", path))
        product = self.write("product.tile", PRODUCT)
        said = self.good("run", "--print", "--random", product)
        self.assertIn("tensor<32x45xi32>", said)
        self.assertEqual(said, self.good("run", "--print", "--random", "--backend=tile", product))
        for args, part in [((), "has 2 inputs, but 0 are given"),
                           (("--random", "--profile"), "take --input"),
                           (("--random", "--input=3xf32=1"), "input 0 of scale"),
                           (("--random", *3 * ["--output=@a.npy"]), "has 2 results")]:
            self.assertIn(part, self.bad(1, "run", *args, path))
        self.assertIn("have no passes", self.bad(1, "opt", "--passes=cse", path))
        program = self.write("add.mlir", ADD)
        self.assertIn("--find-races is for", self.bad(1, "run", "--find-races", program))

    def test_tile_examples(self):
        def run(name, *args):
            path = ROOT / "examples" / f"{name}.tile"
            said = self.good("run", "--print", *args, path)
            self.assertEqual(said, self.good("run", "--print", "--find-races", *args, path))
            return said

        self.assertIn("dense<1.920000e+02> : tensor<16x8xf32>",
                      run("blocked_product", "--input=16x32xf32=2", "--input=32x8xf32=3"))
        self.assertIn("dense<1.024000e+03>", run("hand_over", "--input=256xf32=2"))
        self.assertIn("dense<3.840000e+02> : tensor<8x16xf32>",
                      run("packer", "--input=8x64xf32=2", "--input=64x16xf32=3"))
        self.assertIn("dense<[0, 0, 0, 0, 0, 4096, 0, ", run("histogram", "--input=4096xs32=-11"))
        run("histogram", "--random")
        # What is printed is read again, and prints the same.
        for path in [*(ROOT / "examples").glob("*.tile"), *(ROOT / "tests/ptx").glob("*.tile")]:
            self.assertIn(": ok, kernel ", self.good("check", path))

    # The same random inputs give what the same maths gives as a program.
    def test_tile_examples_as_programs(self):
        for name, text in TILE_EXAMPLES.items():
            results = []
            result = self.folder / "result.npy"
            for path in [self.write(f"{name}.mlir", text), ROOT / "examples" / f"{name}.tile"]:
                self.good("run", "--random", "--seed=3", f"--output=@{result}", path)
                results.append(result.read_bytes())
            self.assertEqual(len(results[0]), len(results[1]))
            pairs = zip(*(struct.iter_unpack("<f", bytes_[-64 * 32 * 4:]) for bytes_ in results))
            for (wanted,), (found,) in pairs:
                self.assertAlmostEqual(found, wanted, delta=2e-6 * max(1, abs(wanted)))

    def test_tile_faults(self):
        def changed(*pairs):
            text = SCALE
            for old, new in pairs:
                self.assertIn(old, text)
                text = text.replace(old, new)
            return self.write("bad.tile", text)

        rows = "<4x8 | 0:4/1 slot 1, 1:8/1 lane 1>"
        columns = "<4x8 | 0:4/1 lane 1, 1:8/1 slot 1>"
        for verb, pairs, *parts in [
                ("check", [("[d1, d2] %2", "[d1, d2] mask %2")], "%6 = ref_load (line 17): a refe"),
                ("check", [("kernel scale", "scale")], "line 1: expected 'kernel'"),
                ("opt", [("%2 : f32", f"%2 : f32 {rows}"), ("%6, %6 : f32", f"%6, %6 : f32 {columns}")],
                 "of which none can be left out", "ref_load (line 17)", "map (line 20)"),
                ("run", [("for d0", "parallel d0"),
                         ("%5 = atomic add [0] %1, %4 : s32", "ref_store [0] %1, %4")],
                 "race: nothing orders ref_store (line 13) and ref_store (line 13) at element 0 of "
                 "buffer 3")]:
            flags = ["--random", "--find-races"] if verb == "run" else []
            said = self.bad(1, verb, *flags, changed(*pairs))
            for part in ["bad.tile: error: ", *parts]:
                self.assertIn(part, said)

    # ---- trace and dumps

    def test_trace(self):
        path = self.folder / "trace.json"
        for verb, spans in [(("compile",), {"frontend", "fold", "back end", "compile"}),
                            (("run", "--random"), {"frontend", "drop_shardy", "main"}),
                            (("opt", "--passes=cse,dce"), {"frontend", "cse", "dce"})]:
            self.good(*verb, f"--trace={path}", stdin=ADD)
            events = json.loads(path.read_text(encoding="utf-8"))
            self.assertLessEqual(spans, {event["name"] for event in events})
            for event in events[:-1]:
                self.assertEqual(event["ph"], "X")
                self.assertGreaterEqual(event["dur"], 0)

    def test_dump(self):
        dumps = self.folder / "dumps"
        for verb in [("compile",), ("run", "--random"), ("opt", "--passes=dce")]:
            self.good(*verb, f"--dump=input,passes,final:{dumps}", stdin=ADD)
            files = sorted(file.name.split(".", 2)[2] for file in dumps.iterdir())
            self.assertEqual([files[0], files[-1]], ["00.input.mlir", "final.mlir"])
            for file in dumps.iterdir():
                self.good("check", file)
                file.unlink()
        self.good("compile", f"--dump=tile,plan,vector,asm:{dumps}", stdin=ADD)
        stages = {file.name.split(".")[2]: file.read_text() for file in dumps.iterdir()}
        has_code = " sse2" in self.good("info")
        self.assertEqual(sorted(stages), ["asm"] * has_code + ["plan", "tile", "vector"])
        if has_code:
            self.assertRegex(stages["asm"], r"\A// machine code of @main: 1 function, ")
        self.assertIn("expected some of input, passes, final",
                      self.bad(2, "compile", "--dump=imput", stdin=ADD))

    def test_observing_never_fails(self):
        done = tool("compile", "--dump=input:/dev/null/x", "--trace=/dev/null/x", stdin=ADD)
        self.assertEqual(done.returncode, 0)
        self.assertEqual([line.split(":")[:2] for line in done.stderr.splitlines()],
                         [["hlocc warn", " cannot write the trace"],
                          ["hlocc warn", " cannot write the dump"]])

    # ---- usage

    def test_usage(self):
        self.assertIn("usage:", self.good())
        self.assertIn("--bench", self.good("run", "--help"))
        self.assertEqual(self.good("help", "run"), self.good("run", "-h"))
        for args, part in [(("rum",), "'run'"), (("run", "--inptu=1"), "'--input'"),
                           (("run", "--print=1"), "--print"), (("run", "--input"), "value"),
                           (("run", "a", "b"), "'b'"), (("ops", "a"), "'a'"),
                           (("run", "--seed=x"), "number"), (("opt", "--bench"), "--bench"),
                           (("info", "--num-threads=many"), "many")]:
            self.assertIn(part, self.bad(2, *args))


if __name__ == "__main__":
    unittest.main()
