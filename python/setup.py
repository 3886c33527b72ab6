# SPDX-License-Identifier: Apache-2.0
"""Puts the plugin library into the wheel, building it with CMake where build/lib has none.

The wheel holds no compiled Python code, only a library for one machine type, hence its tag.
"""
import os
import pathlib
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "build" / "lib" / "pjrt_c_api_hlocc_plugin.so"


def build_library():
    configure = ["cmake", "-S", ROOT, "-B", ROOT / "build"]
    if not (ROOT / "build" / "CMakeCache.txt").exists():
        configure += ["-DCMAKE_BUILD_TYPE=Release", "-DHLOCC_WERROR=OFF"]
        if shutil.which("ninja"):
            configure += ["-G", "Ninja"]
    subprocess.run(configure, check=True)
    subprocess.run(["cmake", "--build", ROOT / "build", "--target", "pjrt_plugin",
                    "-j", str(os.cpu_count() or 1)], check=True)


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        if not LIBRARY.exists():
            build_library()
        target = pathlib.Path(self.build_lib) / "hlocc" / LIBRARY.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(LIBRARY, target)
        if shutil.which("strip"):
            subprocess.run(["strip", "--strip-unneeded", target], check=True)


class MachineDistribution(Distribution):
    def has_ext_modules(self):
        return True


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(distclass=MachineDistribution,
      cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel})
