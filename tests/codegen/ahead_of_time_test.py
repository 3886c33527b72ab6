#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs compiled to files and called from C give the bits of `hlocc run`.

  ahead_of_time_test.py TOOL LIBHLOCC_RT
"""
import _ctypes
import array
import ctypes
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOL = LIBRARY = None
CC = next((cc for cc in [os.environ.get("HLOCC_CC"), "cc", "gcc", "clang"] if cc and shutil.which(cc)), None)
PROGRAMS = """exp_1e6 sum_all_1e6 gelu_layernorm_1e3 matmul_f32_256 while_1e4_vec100 add_100_args
    conv_depthwise3x3 scan_1e4_matvec16""".split()
# Programs that call library functions: sorts, linear algebra, FFT, scatters, also in loops.
CALLING = """argsort_1e6 cholesky_256 eigh_256 fft_2e18_c64 inv_256 scatter_add_1e6_scalars
    topk32_1024x4096""".split()

# A constant operand, a constant result, a constant that only fills memory, a scalar result.
CONSTANTS = """
module @constants { func.func public @main(%a: tensor<300xf32>, %b: tensor<5000xi32>)
    -> (tensor<300xf32>, tensor<9000xi32>, tensor<200xi32>, tensor<i32>) {
  %table = stablehlo.iota dim = 0 : tensor<200xi32>
  %odd = stablehlo.constant dense<"0x0000803F000000400000404000008040"> : tensor<4xf32>
  %row = stablehlo.broadcast_in_dim %odd, dims = [1] : (tensor<4xf32>) -> tensor<75x4xf32>
  %flat = stablehlo.reshape %row : (tensor<75x4xf32>) -> tensor<300xf32>
  %sum = stablehlo.add %a, %flat : tensor<300xf32>
  %ones = stablehlo.constant dense<7> : tensor<9000xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %total = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<5000xi32>, tensor<i32>) -> tensor<i32>
  return %sum, %ones, %table, %total : tensor<300xf32>, tensor<9000xi32>, tensor<200xi32>, tensor<i32>
} }
"""
# The library function depends on the value of a constant operand; it adds in another order than the reference.
WINDOWS = """func.func @main(%a: tensor<500xf32>) -> tensor<401xf64> {
  %x = stablehlo.convert %a : (tensor<500xf32>) -> tensor<500xf64>
  %third = stablehlo.constant dense<3.0> : tensor<500xf64>
  %y = stablehlo.divide %x, %third : tensor<500xf64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %r = "stablehlo.reduce_window"(%y, %zero) ({
  ^bb0(%p: tensor<f64>, %q: tensor<f64>):
    %s = stablehlo.add %p, %q : tensor<f64>
    stablehlo.return %s : tensor<f64>
  }) {window_dimensions = array<i64: 100>} : (tensor<500xf64>, tensor<f64>) -> tensor<401xf64>
  return %r : tensor<401xf64>
}
"""
# In a loop, with a comparator that uses a value from outside; the same operand twice.
SORT = """func.func @main(%a: tensor<40xf32>, %p: tensor<f32>) -> (tensor<40xf32>, tensor<40xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %u = %a, %v = %a) : tensor<i32>, tensor<40xf32>, tensor<40xf32>
  cond {
    %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %s:2 = "stablehlo.sort"(%u, %u) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>, %q: tensor<f32>, %t: tensor<f32>):
      %m = stablehlo.multiply %x, %p : tensor<f32>
      %n = stablehlo.multiply %y, %p : tensor<f32>
      %c = stablehlo.compare LT, %m, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) {dimension = 0 : i64} : (tensor<40xf32>, tensor<40xf32>) -> (tensor<40xf32>, tensor<40xf32>)
    %next = stablehlo.add %i, %one : tensor<i32>
    %w = stablehlo.add %s#1, %v : tensor<40xf32>
    stablehlo.return %next, %w, %s#0 : tensor<i32>, tensor<40xf32>, tensor<40xf32>
  }
  return %r#1, %r#2 : tensor<40xf32>, tensor<40xf32>
}
"""
# The same by a comparison that the library knows: a call, where the other is compiled as loops.
CALL = SORT.replace("compare LT, %m, %n", "compare GT, %x, %y")
# Around the least normal number; in a loop of several chunks.
SMALL = """
func.func @main(%a: tensor<1500000xf32>) -> tensor<1500000xf32> {
  %c = stablehlo.constant dense<2.0e-38> : tensor<1500000xf32>
  %n = stablehlo.constant dense<1.0e+19> : tensor<1500000xf32>
  %p = stablehlo.multiply %a, %c : tensor<1500000xf32>
  %q = stablehlo.multiply %p, %n : tensor<1500000xf32>
  return %q : tensor<1500000xf32>
}
"""
FORMATS = {"f32": ("f", "<f4"), "c64": ("f", "<c8"), "s32": ("i", "<i4"), "u32": ("I", "<u4")}

# Calls the program on the files 0.arg, 1.arg ..., twice on two threads at once, and writes 0.res ...
MAIN = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "program.h"
static const size_t argument_bytes[] = {ARGUMENTS}, result_bytes[] = {RESULTS};
enum { IN = sizeof argument_bytes / sizeof(size_t) - 1, OUT = sizeof result_bytes / sizeof(size_t) - 1 };
static const void* in[IN + 1];
static void* run(void* out) { return (void*)(long)program_run(in, out); }
int main(void) {
  char name[32];
  void* out[2][OUT + 1];
  for (int i = 0; i < IN; ++i) {
    void* data = malloc(argument_bytes[i] + 1);
    snprintf(name, sizeof name, "%d.arg", i);
    FILE* file = fopen(name, "rb");
    if (!file || fread(data, 1, argument_bytes[i], file) != argument_bytes[i]) return 10;
    fclose(file);
    in[i] = data;
  }
  for (int i = 0; i < 2 * OUT; ++i) out[i / OUT][i % OUT] = malloc(result_bytes[i % OUT] + 1);
  pthread_t thread;
  void* answer;
  pthread_create(&thread, 0, run, out[1]);
  if (run(out[0])) return 11;
  pthread_join(thread, &answer);
  if (answer) return 12;
  for (int i = 0; i < OUT; ++i) {
    if (memcmp(out[0][i], out[1][i], result_bytes[i])) return 13;
    snprintf(name, sizeof name, "%d.res", i);
    FILE* file = fopen(name, "wb");
    fwrite(out[0][i], 1, result_bytes[i], file);
    fclose(file);
  }
  return 0;
}
"""


def compiled(path, output, *options):
    """The tool's exit status and what it says on standard error."""
    done = subprocess.run([TOOL, "compile", "--backend=native", "-o", output, *options, path], timeout=900,
                          capture_output=True, text=True)
    return done.returncode, done.stderr


def tensors(header, what):
    found = re.findall(rf"//   {what}\[\d+\]: (\w+)\[([\d,]*)\], (\d+) bytes", header)
    return [(kind, [int(d) for d in dims.split(",") if d], int(size)) for kind, dims, size in found]


def write_argument(folder, index, kind, dims, size, rng):
    code, descriptor = FORMATS[kind]
    values = (rng.uniform(-1, 1) if code == "f" else rng.randrange(10) for _ in range(size // 4))
    data = array.array(code, values).tobytes()
    (folder / f"{index}.arg").write_bytes(data)
    head = f"{{'descr': '{descriptor}', 'fortran_order': False, 'shape': ({''.join(f'{d},' for d in dims)})}}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    (folder / f"{index}.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + data)


def npy_data(path):
    data = path.read_bytes()
    return data[10 + int.from_bytes(data[8:10], "little"):]


class AheadOfTime(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def write(self, text):
        path = self.folder / "program.mlir"
        path.write_text(text)
        return path

    def build(self, path, suffix):
        """Compiles a program and a caller; the caller and the header's text."""
        output, header = self.folder / f"program{suffix}", self.folder / "program.h"
        self.assertEqual(compiled(path, output, f"--header={header}"), (0, ""))
        text = header.read_text()
        main = MAIN
        for name, what in [("ARGUMENTS", "arguments"), ("RESULTS", "results")]:
            main = main.replace(name, "".join(f"{size}, " for _, _, size in tensors(text, what)) + "0")
        (self.folder / "main.c").write_text(main)
        flags = [] if suffix != ".c" else ["-w"] + re.search("//   (-std.*)", text).group(1).split()
        caller = self.folder / "caller"
        library = [LIBRARY] * (suffix == ".o")
        subprocess.run([CC, "-g", *flags, "-o", caller, self.folder / "main.c", output, *library, "-lpthread", "-ldl",
                        "-lm", f"-Wl,-rpath,{self.folder}"], check=True, timeout=900)
        return caller, text

    def compare(self, path, suffix):
        caller, header = self.build(path, suffix)
        arguments, results = tensors(header, "arguments"), tensors(header, "results")
        rng = random.Random(1)
        for i, (kind, dims, size) in enumerate(arguments):
            write_argument(self.folder, i, kind, dims, size, rng)
        self.assertEqual(subprocess.run([caller], cwd=self.folder, timeout=900).returncode, 0)
        inputs = [f"--input=@{self.folder / str(i)}.npy" for i in range(len(arguments))]
        outputs = [f"--output=@{self.folder / str(i)}.out.npy" for i in range(len(results))]
        subprocess.run([TOOL, "run", "--backend=native", *inputs, *outputs, path], check=True, timeout=900)
        for i in range(len(results)):
            self.assertEqual(npy_data(self.folder / f"{i}.out.npy"), (self.folder / f"{i}.res").read_bytes(), f"result {i}")

    @unittest.skipUnless(CC, "needs a C compiler to link with")
    def test_objects(self):
        for name in PROGRAMS:
            with self.subTest(name):
                self.compare(ROOT / "tests/programs/one-device" / f"{name}.mlirbc", ".o")

    @unittest.skipUnless(CC, "needs a C compiler to link with")
    def test_calls(self):
        self.compare(self.write(SORT), ".o")
        self.compare(self.write(CALL), ".o")
        self.compare(self.write(WINDOWS), ".o")
        for name in CALLING:
            with self.subTest(name):
                self.compare(ROOT / "tests/programs/one-device" / f"{name}.mlirbc", ".o")

    @unittest.skipUnless(CC, "needs a C compiler to link with")
    def test_teams(self):
        products = (ROOT / "tests/codegen/concurrent_groups.mlir").read_text().split("// -----\n")[3]
        for suffix in (".o", ".c"):
            with self.subTest(suffix):
                self.compare(self.write(products), suffix)

    @unittest.skipUnless(CC, "needs a C compiler to link with")
    def test_subnormals(self):
        path, results = self.write(SMALL), {}
        for suffix in (".o", ".c"):
            for mode in ("flush", "keep"):
                with self.subTest(suffix + " " + mode):
                    with unittest.mock.patch.dict(os.environ, HLOCC_SUBNORMALS=mode):
                        self.compare(path, suffix)
                    results[mode] = (self.folder / "0.res").read_bytes()
            self.assertNotEqual(results["flush"], results["keep"])

    @unittest.skipUnless(CC, "needs a C compiler to link with")
    def test_lesser_processor(self):
        with unittest.mock.patch.dict(os.environ, HLOCC_CPU="avx2"):
            self.compare(ROOT / "tests/programs/one-device/gelu_layernorm_1e3.mlirbc", ".o")

    @unittest.skipUnless(CC, "needs a C compiler to link with")
    def test_constants(self):
        path = self.write(CONSTANTS)
        for suffix in (".o", ".c"):
            with self.subTest(suffix):
                self.compare(path, suffix)

    @unittest.skipUnless(CC, "needs a C compiler to link with")
    def test_shared(self):
        path = self.folder / "program.so"
        program = ROOT / "tests/programs/one-device/sum_all_1e6.mlirbc"
        self.assertEqual(compiled(program, path, f"--header={self.folder / 'sum.h'}"), (0, ""))
        ones, total = (ctypes.c_float * 1000000)(*[1] * 1000000), ctypes.c_float()
        for _ in range(2):
            library = ctypes.CDLL(str(path))
            self.assertEqual(library.sum_run((ctypes.c_void_p * 1)(ctypes.addressof(ones)),
                                             (ctypes.c_void_p * 1)(ctypes.addressof(total))), 0)
            self.assertEqual(total.value, 1e6)
            _ctypes.dlclose(library._handle)  # its threads end with it

    @unittest.skipUnless(CC, "needs a C compiler to link with")
    def test_shared_calls(self):
        path = self.folder / "sort.so"
        self.assertEqual(compiled(self.write(CALL), path), (0, ""))
        numbers, sign = (ctypes.c_float * 40)(*range(40)), ctypes.c_float(-1)
        results = [(ctypes.c_float * 40)() for _ in range(2)]
        for _ in range(2):
            library = ctypes.CDLL(str(path))
            addresses = [(ctypes.c_void_p * 2)(*map(ctypes.addressof, v)) for v in ((numbers, sign), results)]
            self.assertEqual(library.sort_run(*addresses), 0)
            self.assertEqual(list(results[1]), [78.0 - i for i in range(40)])
            _ctypes.dlclose(library._handle)  # with what it has read of its calls

    def test_bytes(self):
        path = ROOT / "tests/programs/one-device/scan_1e4_matvec16.mlirbc"
        objects = []
        for name in ("a.o", "b.o"):
            self.assertEqual(compiled(path, self.folder / name, f"--header={self.folder}/same.h"), (0, ""))
            objects.append((self.folder / name).read_bytes())
        self.assertEqual(objects[0], objects[1])
        self.assertEqual(objects[0][:4], b"\x7fELF")
        self.assertNotIn(str(ROOT).encode(), objects[0])

    def test_refused(self):
        code, text = compiled(self.write(CALL), self.folder / "sort.c")
        self.assertEqual(code, 1)
        self.assertIn("program.mlir:10:12: error: stablehlo.sort: not supported in a standalone program (C source)", text)
        self.assertFalse((self.folder / "sort.c").exists())


if __name__ == "__main__":
    TOOL, LIBRARY = sys.argv[1:3]
    if " sse2" not in subprocess.run([TOOL, "info"], capture_output=True, text=True).stdout:
        print("no machine code for this processor to test")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
