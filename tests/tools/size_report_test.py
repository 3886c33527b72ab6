#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the counts of tools/size_report.py."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import size_report  # noqa: E402  pylint: disable=wrong-import-position

CODE = """
static int cost(hlo_op_t op, int kind) {
  switch (op) {
    case HLO_OP_add:
    case HLO_OP_subtract: {
      switch (kind) {
        case KIND_FAST: return 1;
        default: return 2;
      }
    }
    default: break;
  }
  switch (kind) {
    case KIND_FAST:
      if (op) { return 3; }
  }
  for (;;) {
    switch (op) { case HLO_OP_dot: return 4; default: break; }
  }
}
"""


class SizeReportTest(unittest.TestCase):
    def test_switches_over_operations(self):
        self.assertEqual(size_report.opcode_switches(CODE), 2)
        self.assertEqual(size_report.opcode_switches("int x = op == HLO_OP_add;"), 0)

    def test_assertions(self):
        code = "assert(a); static_assert(b); HLO_ASSERT(c, d); if (HLO_NEVER(e)) my_assert(f);"
        self.assertEqual(len(size_report.ASSERTION.findall(code)), 3)

    def test_what_is_a_test(self):
        for name in ("x_test.c", "x_fuzz.c", "eval_test_util.h", "test_util.h", "text_mutator.inl"):
            self.assertTrue(size_report.TEST.search(name), name)
        for name in ("test.c", "fuzz.c", "contest.c", "math.inl"):
            self.assertFalse(size_report.TEST.search(name), name)

    def test_plugins_that_are_not_there(self):
        self.assertIsNone(size_report.stripped_bytes(pathlib.Path("nowhere.so")))


if __name__ == "__main__":
    unittest.main()
