#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shared libraries need no symbol version of glibc above 2.17, that of manylinux2014.

    glibc_test.py LIBRARY...

A failure means a call of a function that newer systems have in a new version: add its name to
cmake/glibc_baseline.c.
"""
import re
import subprocess
import sys
import unittest

NEWEST = (2, 17)
LIBRARIES = sys.argv[1:]


def newer_symbols(library):
    """The (symbol, version) pairs that a library needs from a glibc above NEWEST."""
    table = subprocess.run(["objdump", "-T", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    needed = re.findall(r"\*UND\*.*GLIBC_([\d.]+)\)?\s+(\S+)$", table, re.M)
    assert needed, f"{library} needs nothing of glibc?"
    return [(name, version) for version, name in needed if tuple(map(int, version.split("."))) > NEWEST]


class GlibcTest(unittest.TestCase):
    def test_versions(self):
        for library in LIBRARIES:
            with self.subTest(library=library):
                self.assertEqual(newer_symbols(library), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
