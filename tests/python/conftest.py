# SPDX-License-Identifier: GPL-3.0-or-later
"""`libtpu` marks tests that need the TPU's compiler: they are skipped where it is not installed. All others compile for CPUs."""

import importlib.util
import os
import signal
import subprocess
import sys
import time

import pytest

os.environ.setdefault("JAX_NUM_CPU_DEVICES", "1024")  # tests with libtpu may be the first that use JAX
LIBTPU = importlib.util.find_spec("libtpu") is not None


def pytest_configure(config):
    config.addinivalue_line("markers", "libtpu: needs libtpu")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("libtpu") and not LIBTPU:
            item.add_marker(pytest.mark.skip(reason="libtpu is not installed"))


@pytest.fixture(autouse=True)
def compiler(request, monkeypatch, tmp_path_factory):
    """Each test has XLA:CPU, but those that are marked; and a cache of the whole run."""
    monkeypatch.setenv("ICISIM_LIBTPU", "1" if request.node.get_closest_marker("libtpu") else "0")
    monkeypatch.setenv("ICISIM_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def interrupted():
    """Runs Python code that prints a line and then works for minutes, and sends it Ctrl-C: what it says, its status, and the time that it
    took to end, in loops of 10 million steps of Python, so that neither a slow machine nor others on it matter."""

    def run(code, *arguments, alone_s, most_s):
        # A shell that runs the tests in the background has Ctrl-C ignored, which the process inherits.
        code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + code
        process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        process.stdout.readline()
        time.sleep(alone_s)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, said = process.communicate(timeout=most_s)
        ended, x = time.monotonic(), 1
        for i in range(10_000_000):
            x = x * 31 + i & 0xFFFFFFFF
        return said, process.returncode, (ended - began) / (time.monotonic() - ended)

    return run
