# SPDX-License-Identifier: Apache-2.0
"""jax.profiler shows the work of hlocc beside that of JAX."""
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.profiler import ProfileData


def events_of(folder):
    """Events of the host's plane, by name."""
    files = list(pathlib.Path(folder).rglob("*.xplane.pb"))
    assert len(files) == 1
    found = {}
    for plane in ProfileData.from_file(str(files[0])).planes:
        if plane.name == "/host:CPU":
            for line in plane.lines:
                for event in line.events:
                    found.setdefault(event.name, []).append(event)
    return found


@pytest.mark.smoke
def test_a_trace_has_compilations_launches_and_transfers(tmp_path):
    def before_the_start(x):
        return x * 2 + 1

    def profiled(x):
        return jnp.sin(x) @ x

    known, new = jax.jit(before_the_start), jax.jit(profiled)
    x = np.ones((64, 64), np.float32)
    known(x).block_until_ready()
    with jax.profiler.trace(tmp_path):
        for _ in range(3):
            np.asarray(known(x))
        new(x).block_until_ready()
    known(x).block_until_ready()
    events = events_of(tmp_path)
    launches = events["jit_before_the_start"]
    assert len(launches) == 3
    assert len(events["jit_profiled"]) == 1
    stats = [dict(launch.stats) for launch in launches]
    assert {stat["device"] for stat in stats} == {0}
    assert len({stat["run_id"] for stat in stats}) == 3
    assert any(dict(event.stats).get("detail") == "jit_profiled" for event in events["compile"])
    # One clock: the launch lies within JAX's own event of the same call.
    assert min(launch.start_ns for launch in launches) >= 0
    calls = [event for name, some in events.items() if "PjitFunction(before_the_start)" in name for event in some]
    assert calls[0].start_ns <= launches[0].start_ns <= launches[0].end_ns


@pytest.mark.smoke
def test_traces_follow_each_other(tmp_path):
    f = jax.jit(lambda x: x + 1)
    f(1.0)
    for i in range(2):
        with jax.profiler.trace(tmp_path / str(i)):
            f(2.0).block_until_ready()
    for i in range(2):
        assert len(events_of(tmp_path / str(i))["jit__lambda"]) == 1


@pytest.mark.smoke
def test_a_trace_has_callbacks(tmp_path):
    shape = jax.ShapeDtypeStruct((3,), np.float32)
    call = jax.jit(lambda x: jax.pure_callback(lambda y: np.asarray(y) * 2, shape, x))
    x = np.ones(3, np.float32)
    np.asarray(call(x))
    with jax.profiler.trace(tmp_path):
        np.asarray(call(x))
    events = events_of(tmp_path)
    (callback,) = [event for name, some in events.items() if "callback" in name for event in some
                   if "run_id" in dict(event.stats) and not name.startswith("jit")]
    (program,) = [event for event in events["jit__lambda"] if event.start_ns <= callback.start_ns <= event.end_ns]
    assert dict(program.stats)["run_id"] == dict(callback.stats)["run_id"]


STEPS = """
import sys, jax, jax.numpy as jnp, numpy as np

def body(i, x):
    y = jax.pure_callback(lambda z: np.asarray(z) * 2, jax.ShapeDtypeStruct((64, 64), np.float32), x)
    return jnp.sort(y @ x, axis=1) / 64

step = jax.jit(lambda x: jax.lax.fori_loop(0, 20, body, jnp.sin(x)))
x = jnp.ones((64, 64))
np.asarray(step(x))
with jax.profiler.trace(sys.argv[1]):
    np.asarray(step(x))
"""


def test_steps_are_shown_on_request(tmp_path, python):
    status, _, err = python(STEPS, str(tmp_path), HLOCC_PROFILE_STEPS="1")
    assert status == 0, err
    events = events_of(tmp_path)
    counts = {name.partition(": ")[2]: len(some) for name, some in events.items()
              if name.startswith(("fusion ", "call ", "control "))}
    assert counts["while"] == 1
    assert counts["sort"] == 20
    assert counts["custom_call xla_ffi_python_cpu_callback"] == 20  # each suspends the program
    (products,) = [some for name, some in events.items() if "dot_general" in name]
    stats = dict(products[0].stats)
    assert len(products) == 20
    assert stats["flops"] >= 2 * 64 ** 3
    assert stats["bytes_accessed"] >= 3 * 64 * 64 * 4
    assert stats["roofline_ps"] > 0
    assert "<string>:6" in stats["detail"]
