# SPDX-License-Identifier: Apache-2.0
"""pypjrt's conformance probes, which talk to the plugin through ctypes without jaxlib."""
import json

import hlocc

# What XLA's own cpu plugin leaves unsupported and hlocc answers.
ANSWERED = {"device.memory_stats", "device.clear_memory_stats", "compile.cost_analysis",
            "topology.create_by_name"}


def test_conformance(python, tmp_path):
    report = tmp_path / "report.json"
    status, out, errors = python("", "-m", "pypjrt.conform", "--json", str(report),
                                 hlocc.library_path())
    assert status == 0, out + errors
    results = {check["id"]: check["result"] for check in json.loads(report.read_text())["checks"]}
    assert not [name for name, result in results.items() if result == "fail"]
    assert {name: results[name] for name in ANSWERED} == dict.fromkeys(ANSWERED, "pass")
