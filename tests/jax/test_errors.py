# SPDX-License-Identifier: Apache-2.0
"""Wrong programs and wrong installations end in Python exceptions that say why."""
import os
import shutil
import subprocess

import jax
import jax.numpy as jnp
import pytest

DEVICES = "import jax; print(jax.devices())"

# A library whose GetPjrtApi answers with the version 0.40.
OLD_PLUGIN = """
#include <stddef.h>
static struct { size_t size; void* ext; size_t vsize; void* vext; int major, minor; } api =
    {40, NULL, 24, NULL, 0, 40};
void* GetPjrtApi(void) { return &api; }
"""


def compile_text(text):
    client = jax.devices()[0].client
    devices = client.local_devices()[:1]
    from jaxlib import _jax
    return client.compile_and_load(text, _jax.DeviceList(tuple(devices)))


def test_text_that_is_no_program():
    with pytest.raises(Exception, match="."):
        compile_text(b"this is not a module")
    assert float(jnp.arange(3).sum()) == 3


def test_huge_result_is_refused():
    with pytest.raises(Exception, match="RESOURCE_EXHAUSTED|[Mm]emory|bytes"):
        jax.jit(lambda: jnp.zeros((1 << 24, 1 << 24)))().block_until_ready()
    assert float(jnp.arange(3).sum()) == 3


def test_unknown_custom_call_is_named():
    lowered = jax.jit(lambda x: jax.ffi.ffi_call("nobody_has_this", x)(x)).lower(jnp.ones(2))
    with pytest.raises(Exception, match="test_errors.py.*custom_call.*nobody_has_this"):
        lowered.compile()


def test_missing_library_is_said(python):
    status, _, errors = python(DEVICES, HLOCC_LIBRARY_PATH="/nowhere/plugin.so")
    assert status == 1 and "HLOCC_LIBRARY_PATH names no file: /nowhere/plugin.so" in errors


def test_other_library_is_said(python):
    import ctypes.util
    libm = ctypes.util.find_library("m")
    path = next(os.path.join(d, libm) for d in ("/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib")
                if os.path.exists(os.path.join(d, libm)))
    status, _, errors = python(DEVICES, HLOCC_LIBRARY_PATH=path)
    assert status == 1 and "cannot be used as a PJRT plugin" in errors


def test_old_library_is_said(python, tmp_path):
    source, library = tmp_path / "old.c", tmp_path / "old.so"
    source.write_text(OLD_PLUGIN)
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library], check=True)
    status, _, errors = python(DEVICES, HLOCC_LIBRARY_PATH=str(library))
    assert status == 1 and "implements PJRT 0.40; this package needs 0.112 or newer" in errors


HANG = """
import os, signal, sys, threading, time
import jax, jax.numpy as jnp, numpy as np
log = open(sys.argv[1], "w+")
os.dup2(log.fileno(), 2)
has_begun, may_end = threading.Event(), threading.Event()
def slow(x):
    has_begun.set()
    may_end.wait(60)
    return x
def f(x):
    return jax.pure_callback(slow, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1
launched = jax.jit(f)
x = jnp.arange(4.0)
thread = threading.Thread(target=lambda: launched(x).block_until_ready())
thread.start()
assert has_begun.wait(60)
os.kill(os.getpid(), signal.SIGUSR1)
for _ in range(600):
    if "in flight:" in open(sys.argv[1]).read():
        break
    time.sleep(0.1)
may_end.set()
thread.join()
"""


def test_a_signal_explains_a_hang(python, tmp_path):
    """The log names the callback, its program and the line of the source."""
    log = tmp_path / "log"
    status, _, _ = python(HANG, str(log), HLOCC_EXPLAIN_SIGNAL="USR1")
    errors = log.read_text()
    assert status == 0, errors
    assert "in flight:" in errors and "of jit_f on device 0" in errors
    assert "is in foreign function xla_ffi_python_cpu_callback of" in errors


STUCK = """
import threading
import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh, gate = Mesh(np.array(jax.devices()), ("x",)), threading.Event()

def on_mesh(f):
    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False))

def stay(i, x):
    if i == 1:
        gate.wait()
    return x

def body(x):
    y = jax.pure_callback(stay, jax.ShapeDtypeStruct(x.shape, x.dtype), jax.lax.axis_index("x"), x)
    return jax.lax.psum(y, "x")

x = np.ones(4, np.float32)
try:
    jax.block_until_ready(on_mesh(body)(x))
except jax.errors.JaxRuntimeError as error:
    print(error)
print(on_mesh(lambda x: jax.lax.psum(x, "x"))(x))
gate.set()
"""


def test_a_device_that_does_not_come(python):
    _, out, errors = python(STUCK, HLOCC_NUM_DEVICES="4", HLOCC_COLLECTIVE_TIMEOUT="1")
    error, _, result = out.rpartition("\n[")
    assert result == "4. 4. 4. 4.]\n", out + errors
    for part in ("DEADLINE_EXCEEDED", "stablehlo.all_reduce", "3 of 4 members have arrived", "jit_body", "(psum)",
                 "missing: partition 1 on device 1 is in foreign function"):
        assert part in error
