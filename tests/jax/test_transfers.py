# SPDX-License-Identifier: Apache-2.0
"""Forced copies, and arrays that another process pulls through JAX's transfer server."""
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import is_ours
from jax.experimental import transfer

LOCAL = "127.0.0.1:0"


def test_copies_that_must_not_alias():
    first = jnp.arange(1000.0)
    copies = [jax.device_put(first, may_alias=False) for _ in range(2)]
    assert len({array.unsafe_buffer_pointer() for array in [first, *copies]}) == 3
    for array in copies:
        assert is_ours(array)
        np.testing.assert_array_equal(array, first)


PULL = """
import sys
import jax, numpy as np
from jax.experimental import transfer
address, raw = sys.argv[1], sys.argv[2] == "True"
device = jax.devices()[0]
assert "hlocc" in device.client.platform_version
local = "127.0.0.1:0"
server = transfer.start_transfer_server(device.client, local, [local], use_raw_buffers=raw)
specs = [jax.ShapeDtypeStruct(shape, "f4", sharding=jax.sharding.SingleDeviceSharding(device))
         for shape in [(3,), (1000, 500)]]
for array in server.connect(address).pull(7, specs):
    np.testing.assert_array_equal(array, np.arange(array.size, dtype="f4").reshape(array.shape))
print("pulled")
"""


@pytest.mark.parametrize("raw", [False, True])
def test_another_process_pulls_arrays(raw):
    client = jax.devices()[0].client
    server = transfer.start_transfer_server(client, LOCAL, [LOCAL], use_raw_buffers=raw)
    arrays = [jnp.arange(3.0), jnp.arange(500000.0).reshape(1000, 500)]
    server.await_pull(7, arrays)
    pull = subprocess.run([sys.executable, "-c", PULL, server.address(), str(raw)],
                          capture_output=True, text=True, timeout=60)
    assert pull.stdout.strip().endswith("pulled"), pull.stderr
