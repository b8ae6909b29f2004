# SPDX-License-Identifier: GPL-3.0-or-later
"""`libtpu` marks tests that need the TPU's compiler: they are skipped where it is not installed. All others compile for CPUs."""

import importlib.util
import os

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
