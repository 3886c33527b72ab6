# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin for libraries.py: runs a sample of the tests, journals each outcome, limits its time.

The journal has a JSON line when a test starts and one when it ends, so a reader of the journal knows which
test a process died in. Tests that the journal already names are not run again.
"""
import json
import os
import signal
import zlib

JOURNAL = os.environ["HLOCC_OUTCOMES"]
SAMPLE = float(os.environ.get("HLOCC_OUTCOMES_SAMPLE", "1"))
ONLY = os.environ.get("HLOCC_OUTCOMES_ONLY", "").split("\n")  # test ids; none: all of the sample
SECONDS = int(os.environ.get("HLOCC_OUTCOMES_SECONDS", "300"))


def journal(**entry):
    with open(JOURNAL, "a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def known():
    if not os.path.exists(JOURNAL):
        return set()
    with open(JOURNAL, encoding="utf-8") as file:
        return {json.loads(line)["test"] for line in file}


def pytest_collection_modifyitems(config, items):
    done = known()
    kept = [item for item in items if item.nodeid not in done
            and (item.nodeid in ONLY if ONLY != [""] else zlib.crc32(item.nodeid.encode()) < SAMPLE * 2**32)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def pytest_runtest_logstart(nodeid):
    journal(test=nodeid, outcome="started")


def on_alarm(*_):
    raise TimeoutError(f"more than {SECONDS} s")


def pytest_runtest_setup():
    signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(SECONDS)


def pytest_runtest_logreport(report):
    if report.when == "teardown":
        signal.alarm(0)
    if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
        text = report.longreprtext.strip().splitlines()[-1:] if report.outcome == "failed" else []
        journal(test=report.nodeid, outcome=report.outcome, message="".join(text)[:300])
