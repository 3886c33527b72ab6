#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hlocc-dev from outside, as cli_test.py tests hlocc.

    dev_test.py HLOCC HLOCC_DEV
"""
import pathlib
import re
import struct
import sys
import unittest

from tool import ADD, SORT, ToolTest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HLOCC, DEV = sys.argv.pop(1), sys.argv.pop(1)

ALL_SUM = """func.func @main(%a: tensor<ui32>) -> tensor<ui32> {
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<ui32>, %y: tensor<ui32>):
    %1 = stablehlo.add %x, %y : tensor<ui32>
    stablehlo.return %1 : tensor<ui32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<ui32>) -> tensor<ui32>
  return %0 : tensor<ui32>
}
"""


class DevTest(ToolTest):
    TOOL = DEV

    # ---- usage

    def test_help(self):
        page = (ROOT / "docs" / "man" / "hlocc-dev.1").read_text(encoding="utf-8").replace("\\", "")
        verbs = re.findall(r"^  (\w+) ", self.good("--help"), re.M)
        self.assertEqual(verbs, ["reduce", "replay", "support", "tune"])
        for verb in verbs:
            self.assertIn(verb, page)
            for option in re.findall(r"^  (--?[a-z-]+)", self.good(verb, "--help"), re.M):
                self.assertIn(option, page)
        self.assertIn("unknown verb 'tun', did you mean 'tune'?; see hlocc-dev --help", self.bad(2, "tun"))
        self.assertIn("hlocc-dev reduce --help", self.bad(2, "reduce", "--tiles=x"))
        self.assertIn("'--calibrat', did you mean '--calibrate'", self.bad(2, "tune", "--calibrat"))

    # ---- tune

    def test_calibrate(self):
        self.assertIn("--calibrate", self.bad(1, "tune"))
        if " sse2" not in self.good("info", tool=HLOCC):
            return
        measured = self.good("tune", "--calibrate")
        machine = self.write("measured.txt", measured)
        rates = [float(rate) for rate in re.findall(r"([-+.\w]+) bytes/ns", measured)]
        self.assertEqual(len(rates), 4)
        self.assertGreater(min(rates), 0)
        again = self.good("info", f"--cpu=@{machine}", tool=HLOCC)
        self.assertEqual(again[again.index("features"):], measured[measured.index("features"):])

    def test_tiles(self):
        if " sse2" not in self.good("info", tool=HLOCC):
            return
        shape = "tensor<48x48xf32>"
        product = self.write("product.mlir", f"""func.func @main(%a: {shape}, %b: {shape}) -> {shape} {{
            %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({shape}, {shape}) -> {shape}
            return %0 : {shape}
            }}""")
        listed = self.good("compile", "--emit=tilings", str(product), tool=HLOCC)
        self.assertEqual(listed.count(" ns, chosen\n"), 1)
        tiles = re.findall(r"tile .* vectors", listed)
        self.assertGreater(len(tiles), 10)
        timed = self.good("tune", f"--tiles={product}")
        self.assertEqual(re.findall(r"\d+\. (tile .* vectors), expected", timed), tiles)
        self.assertRegex(timed, r"number \d+ is taken: [\d.]+ % more than the best")
        machine = self.write("tiles.txt", self.good("info", tool=HLOCC) + tiles[-1] + "\n")
        self.assertIn("from the machine's description",
                      self.good("compile", "--emit=tile", f"--cpu=@{machine}", str(product), tool=HLOCC))
        self.assertIn("--tiles", self.bad(1, "tune", "--calibrate", f"--tiles={product}"))
        self.bad(1, "tune", "--tiles=/nowhere.mlir")

    # ---- support

    def test_support_matrix(self):
        lines = self.good("support").splitlines()
        names = [line.split(" ")[0] for line in self.good("ops", tool=HLOCC).splitlines()]
        self.assertEqual([line.split(":")[0] for line in lines], names)
        rows = dict(line.split(": ", 1) for line in lines)
        self.assertIn("interp(all)", rows["stablehlo.add"])
        self.assertIn("interp(int)", rows["stablehlo.shift_left"])
        self.assertIn("interp(float)", rows["stablehlo.complex"])
        self.assertIn("interp(yes)", rows["stablehlo.replica_id"])
        self.assertIn("interp(no)", rows["stablehlo.infeed"])

    # ---- replay

    def test_replay(self):
        folder = self.folder / "launch"
        folder.mkdir()
        (folder / "program").write_text(ADD)
        for i in range(2):
            (folder / f"device0.argument{i}").write_bytes(struct.pack("<6f", *range(i, i + 6)))
        self.assertEqual(self.good("replay", folder), "")
        self.assertEqual(self.good("replay", "--print", folder),
                         "result 0 = dense<[[1.000000e+00, 3.000000e+00, 5.000000e+00], "
                         "[7.000000e+00, 9.000000e+00, 1.100000e+01]]> : tensor<2x3xf32>\n")
        (folder / "options").write_bytes(b"\x1a\x02\x20\x02")  # two replicas
        (folder / "program").write_text(ALL_SUM)
        for d in range(2):
            (folder / f"device{d}.argument0").write_bytes(struct.pack("<I", 10 + d))
        self.assertEqual(self.good("replay", "--print", folder),
                         "".join(f"process {d}: result 0 = dense<21> : tensor<ui32>\n" for d in range(2)))
        (folder / "program").write_text(ADD)
        (folder / "options").write_bytes(b"\xff")
        self.bad(1, "replay", folder)
        (folder / "options").write_bytes(b"")
        (folder / "device0.argument0").write_bytes(bytes(24))
        (folder / "device0.argument1").write_bytes(b"1234")
        self.assertIn("device0.argument1: error: found 4 bytes, expected 24", self.bad(1, "replay", folder))
        (folder / "device0.argument1").unlink()
        self.assertIn("device0.argument1", self.bad(1, "replay", folder))
        (folder / "program").unlink()
        self.assertIn("program", self.bad(1, "replay", folder))

    # ---- reduce

    def test_reduce(self):
        log = self.folder / "log"
        sorts = f'f() {{ echo wrong; echo >> {log}; ! grep -q stablehlo.sort "$1"; }}; f'
        found = self.good("reduce", f"--command={sorts}", "--message=wrong", stdin=SORT)
        runs = len(log.read_text())
        self.assertTrue(found.startswith(f"// 4 of 4 operations of -; the command was run {runs} times\nmodule"), found)
        self.assertIn("tensor<1xf32>", found)
        # One that hangs, or ends otherwise, is another fault.
        other = f'f() {{ grep -q 8xf32 "$1" && exit 3; echo >> {log}; exit 1; }}; f'
        self.assertIn("tensor<8xf32>", self.good("reduce", f"--command={other}", stdin=SORT))
        self.assertGreater(len(log.read_text()), runs + 1)
        for options, message in [((), "--command"), (("--command=true",), "does not fail"),
                                 ((f"--command={sorts}", "--message=right"), "without printing 'right': wrong")]:
            self.assertIn(message, self.bad(1, "reduce", *options, stdin=SORT))


if __name__ == "__main__":
    unittest.main()
