# SPDX-License-Identifier: Apache-2.0
"""Tuned kernels in jobs of several processes, which share them through the key-value store of `jax.distributed`.

Here JAX itself ends the processes of a job whose store is gone; src/compiler/tuner_test.c has stores that fail or never answer.
"""
import os
import re
import socket
import subprocess
import sys

# Compiles two products; the first process, which has the store, stays until the other one is done.
PROCESS = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import jax.numpy as jnp
a, b, c = jnp.ones((128, 100)), jnp.ones((100, 96)), jnp.ones((96, 200))
left, right = jax.jit(lambda a, b, c: (a @ b, b @ c))(a, b, c)
print(float(left[0, 0]), float(right[0, 0]), flush=True)
sys.stdin.readline()
"""


def test_two_processes_time_each_kernel_once(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    processes = []
    for number in range(2):
        environment = {**os.environ, "JAX_PLATFORMS": "hlocc", "HLOCC_PROCESSES": "apart", "HLOCC_TUNE": "on",
                       "HLOCC_TUNE_DIR": str(tmp_path / str(number)), "HLOCC_LOG": "info"}
        with (tmp_path / f"log{number}").open("w") as log:
            processes.append(subprocess.Popen([sys.executable, "-c", PROCESS, address, str(number)], text=True,
                                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment))
    try:
        for process in processes:
            assert process.stdout.readline() == "100.0 96.0\n"
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    logs = [(tmp_path / f"log{number}").read_text() for number in range(2)]
    counts = [re.findall(r"(\d+) missing, (\d+) tuned", log)[-1] for log in logs]
    assert [int(missing) for missing, _ in counts] == [2, 2] and sum(int(tuned) for _, tuned in counts) == 2
    records = [{path.name: path.read_text() for path in (tmp_path / str(number)).iterdir()} for number in range(2)]
    assert len(records[0]) == 2 and records[0] == records[1]
