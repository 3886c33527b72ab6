#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The launcher of kernels with a driver that needs no GPU: `fake_cuda_test.py RUN_KERNELS FAKE_DRIVER`.

Kernels are loaded, launched and compared as on a GPU; the driver (fake_cuda.c) runs their text. Then every function
of the driver fails or is missing.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DRIVER = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
SKIPPED = 77

# Threads without blocks; the last block of 256 is not full.
ELEMENTWISE = """kernel elementwise version 1 {
  buffer f32[1100]
  buffer f32[1100]
  buffer f32[1100] out
  parallel d0 = 0..1100 by 256 {
    %0 = load 0 [d0] : f32
    %1 = load 1 [d0] : f32
    %2 = map multiply %0, %1 : f32
    store 2 [d0] %2
  }
}
"""

# Two phases: blocks with shared memory of fixed size, then threads.
ROWS = """kernel rows version 3 {
  buffer f32[4, 96]
  buffer f32[4] out
  buffer f32[4] out
  %0 = constant 0x00000000 : f32
  parallel d0 = 0..4 by 1 {
    %2 = reduce add %0 over d1 = 0..96 by 32 : f32 {
      %1 = load 0 [96*d0 + d1] : f32
      yield %1
    }
    store 1 [d0] %2
  }
  parallel d0 = 0..4 by 4 {
    %3 = load 1 [d0] : f32
    store 2 [d0] %3
  }
}
"""

# 54 KiB of shared memory; boxes and four warps together on 9.0.
PRODUCT = """kernel product version 3 {
  buffer bf16[64, 384]
  buffer bf16[8, 384]
  buffer f32[64, 8] out
  %0 = reference 0 : bf16[64, 384]
  %1 = reference 1 : bf16[8, 384]
  %2 = reference 2 : f32[64, 8]
  %3 = constant 0x00000000 : f32
  parallel d0 = 0..1 by 1 {
    %4 = alloc accumulator : f32[64, 8]
    %5 = alloc near : bf16[64, 64]
    %6 = alloc near : bf16[8, 64]
    for d1 = 0..64 by 64 {
      for d2 = 0..8 by 8 {
        ref_store [d1, d2] %4, %3
      }
    }
    for d3 = 0..6 by 1 stages 6 {
      %7 = slice [0, 64*d3] sizes [64, 64] %0 : bf16[64, 64]
      %8 = slice [0, 64*d3] sizes [8, 64] %1 : bf16[8, 64]
      copy %7, %5
      copy %8, %6
      mma [1] x [1] %4, %5, %6
    }
    copy %4, %2
  }
}
"""

# Elements of 4 bits, which the GPU has packed; only the family of 12.0 multiplies them.
NARROW = """kernel narrow version 4 {
  buffer f4e2m1fn[16, 64]
  buffer f4e2m1fn[8, 64]
  buffer f8e4m3fn[16, 4]
  buffer f8e4m3fn[8, 4]
  buffer f32[16, 8] out
  buffer f4e2m1fn[16, 64] out
  %0 = reference 0 : f4e2m1fn[16, 64]
  %1 = reference 1 : f4e2m1fn[8, 64]
  %2 = reference 2 : f8e4m3fn[16, 4]
  %3 = reference 3 : f8e4m3fn[8, 4]
  %4 = reference 4 : f32[16, 8]
  %5 = reference 5 : f4e2m1fn[16, 64]
  %6 = constant 0x00000000 : f32
  parallel d0 = 0..1 by 1 {
    %7 = alloc accumulator : f32[16, 8]
    %8 = alloc near : f4e2m1fn[16, 64]
    %9 = alloc near : f4e2m1fn[8, 64]
    %10 = alloc near : f8e4m3fn[16, 4]
    %11 = alloc near : f8e4m3fn[8, 4]
    for d1 = 0..16 by 16 {
      for d2 = 0..8 by 8 {
        ref_store [d1, d2] %7, %6
      }
    }
    copy %0, %8
    copy %1, %9
    copy %2, %10
    copy %3, %11
    scaled_mma [1] x [1] %7, %8, %9, %10, %11
    copy %7, %4
    copy %8, %5
  }
}
"""

FUNCTIONS = ["cuInit", "cuDeviceGet", "cuDeviceGetAttribute", "cuDeviceGetName", "cuDevicePrimaryCtxRetain",
             "cuCtxSetCurrent", "cuCtxSynchronize", "cuModuleLoadData", "cuModuleUnload", "cuModuleGetFunction",
             "cuFuncSetAttribute", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2",
             "cuLaunchKernel", "cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventElapsedTime",
             "cuGetErrorName", "cuTensorMapEncodeTiled"]


class LauncherTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "libcuda.so.1").symlink_to(DRIVER)
        for name, text in (("elementwise", ELEMENTWISE), ("rows", ROWS), ("product", PRODUCT), ("narrow", NARROW)):
            (self.folder / f"{name}.tile").write_text(text, encoding="utf-8")

    def launch(self, *kernels, expected=0, **settings):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.folder)}
        environment.update({f"FAKE_CUDA_{name.upper()}": str(value) for name, value in settings.items()})
        done = subprocess.run([PROGRAM, *(str(self.folder / f"{name}.tile") for name in kernels)],
                              capture_output=True, text=True, check=False, env=environment)
        self.assertEqual(done.returncode, expected, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def hide(self, symbol):
        """The driver without a function."""
        library = DRIVER.read_bytes()
        name = symbol.encode() + b"\0"
        self.assertIn(name, library)
        (self.folder / "libcuda.so.1").unlink()
        (self.folder / "libcuda.so.1").write_bytes(library.replace(name, b"_" + name[1:]))

    # ---- what a GPU would do

    def test_results(self):
        said = self.launch("elementwise", "rows", log=self.folder / "log")
        self.assertIn("no GPU, capability 8.0, memory 1024 GB/s", said)
        self.assertRegex(said, r"elementwise +ok: error 0 ")
        self.assertRegex(said, r"rows +ok: ")
        self.assertIn(" 0.1000 ms", said)
        calls = (self.folder / "log").read_text(encoding="utf-8").split()
        self.assertEqual(calls.count("cuMemAlloc_v2"), calls.count("cuMemFree_v2"))
        self.assertEqual(calls.count("cuModuleLoadData"), 2)
        self.assertEqual(calls.count("cuModuleUnload"), 2)
        self.assertEqual(calls.count("cuLaunchKernel"), (1 + 20) * (1 + 2))
        self.assertNotIn("cuFuncSetAttribute", calls)

    def test_shared_memory(self):
        for capability, needs_maps in ((80, False), (90, True)):
            log = self.folder / f"log{capability}"
            self.assertRegex(self.launch("product", capability=capability, log=log), r"product +ok: error ")
            calls = log.read_text(encoding="utf-8").split()
            self.assertEqual(calls.count("cuFuncSetAttribute"), 1)
            self.assertEqual(calls.count("cuTensorMapEncodeTiled"), 2 if needs_maps else 0)

    def test_tensor_memory(self):
        wide = PRODUCT
        for old, new in (("[64, 384]", "[128, 384]"), ("[8, 384]", "[16, 384]"), ("[64, 8]", "[128, 16]"),
                         ("[64, 64]", "[128, 64]"), ("[8, 64]", "[16, 64]"), ("..64 by 64", "..128 by 128"),
                         ("..8 by 8", "..16 by 16")):
            wide = wide.replace(old, new)
        (self.folder / "product.tile").write_text(wide, encoding="utf-8")
        self.assertRegex(self.launch("product", capability=100), r"product +ok: ")

    def test_less_shared_memory(self):
        # A kernel that a GPU's shared memory does not hold is refused when it is compiled.
        larger = PRODUCT.replace("stages 6", "stages 12")
        (self.folder / "product.tile").write_text(larger, encoding="utf-8")
        said = self.launch("product", capability=120, expected=1, log=self.folder / "log")
        self.assertRegex(said, r"needs \d+ bytes of near memory, 101376 are available")
        self.assertNotIn("cuModuleLoadData", (self.folder / "log").read_text(encoding="utf-8"))

    def test_packed_elements(self):
        self.assertRegex(self.launch("narrow", capability=120), r"narrow +ok: ")
        self.assertRegex(self.launch("narrow", capability=90), r"narrow +skipped: .*multiplies no scaled operands")

    def test_wrong_results(self):
        self.assertRegex(self.launch("elementwise", "rows", expected=1, wrong=1), r"elementwise +WRONG: (.|\n)+rows +WRONG: ")

    # ---- what is not there

    def test_no_driver(self):
        (self.folder / "libcuda.so.1").unlink()
        (self.folder / "libcuda.so.1").write_text("no library", encoding="utf-8")
        self.assertIn("libcuda.so.1 is not there", self.launch("elementwise", expected=SKIPPED))

    def test_no_gpu(self):
        self.assertIn("the driver has no GPU", self.launch("elementwise", expected=SKIPPED, devices=0))

    def test_missing_functions(self):
        for function in FUNCTIONS[:-1]:
            self.hide(function)
            self.assertIn(f"no NVIDIA GPU: the driver lacks {function}", self.launch("elementwise", expected=SKIPPED))

    def test_old_driver(self):
        # Drivers before CUDA 12 describe no matrices: only kernels that copy boxes need that.
        self.hide("cuTensorMapEncodeTiled")
        self.assertRegex(self.launch("product"), r"product +ok: ")
        said = self.launch("elementwise", "product", capability=90, expected=1)
        self.assertRegex(said, r"elementwise +ok: ")
        self.assertIn("the driver lacks cuTensorMapEncodeTiled", said)

    def test_unknown_version(self):
        said = self.launch("product", capability=90, ptx=78, expected=1)
        self.assertIn("cuModuleLoadData: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)", said)

    def test_old_gpu(self):
        self.assertIn("GPUs of capability 6.1", self.launch("elementwise", capability=61, expected=1))

    def test_new_gpu(self):
        for capability in (86, 89, 99, 103, 109, 121, 129, 200):
            self.assertRegex(self.launch("elementwise", capability=capability), r"elementwise +ok: ")

    # ---- what fails

    def test_failures(self):
        for function in FUNCTIONS:
            if function in ("cuInit", "cuGetErrorName"):
                continue
            calls = 2 if function in ("cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuMemFree_v2", "cuDeviceGet") else 1
            said = self.launch("product", capability=90, fail=f"{function} {calls} 2", expected=1)
            self.assertIn(f"{function.split('_')[0]}: CUDA_ERROR_OUT_OF_MEMORY (2)", said)

    def test_failures_of_the_beginning(self):
        for function in ("cuInit", "cuDeviceGet"):
            said = self.launch("elementwise", fail=f"{function} 1 999", expected=SKIPPED)
            self.assertIn("the driver has no GPU", said)


if __name__ == "__main__":
    unittest.main()
