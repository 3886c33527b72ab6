# SPDX-License-Identifier: Apache-2.0
"""Helpers of the tests of command-line tools: calls and checks of their results."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ADD = """func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.add %a, %b : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
"""

SORT = """func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.sort"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


def call(tool, *args, stdin=""):
    # Memory that nothing was written to is not zero.
    return subprocess.run([tool, *map(str, args)], input=stdin, capture_output=True, text=True,
                          env={**os.environ, "MALLOC_PERTURB_": "85"}, timeout=900)


class ToolTest(unittest.TestCase):
    """Tests of one tool, whose path a class names, with a folder of their own."""
    TOOL = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def good(self, *args, stdin="", tool=None):
        done = call(tool or self.TOOL, *args, stdin=stdin)
        self.assertEqual((done.returncode, done.stderr), (0, ""), args)
        return done.stdout

    def bad(self, status, *args, stdin=""):
        """Fails with this status; nothing on standard output, one error."""
        done = call(self.TOOL, *args, stdin=stdin)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertEqual(done.stderr.count("error: "), 1, done.stderr)
        return done.stderr
