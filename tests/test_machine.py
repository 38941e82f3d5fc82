"""Roots of folders, counts of cores, and memory that stays with the process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stable_nalu import machine

ROOTS = {
    "TENSORBOARD_DIR": (machine.tensorboard_root, "tensorboard"),
    "SAVE_DIR": (machine.save_root, "save"),
    "RESULTS_DIR": (machine.results_root, "results"),
}


@pytest.mark.parametrize("variable", ROOTS)
def test_a_root_comes_from_the_environment(variable, monkeypatch, tmp_path):
    root, name = ROOTS[variable]
    monkeypatch.setenv(variable, str(tmp_path / "there"))
    assert root() == tmp_path / "there"
    for unset in (lambda: monkeypatch.setenv(variable, ""), lambda: monkeypatch.delenv(variable)):
        unset()
        assert root() == Path(__file__).resolve().parents[1] / name


def test_an_installed_package_writes_below_the_current_folder(monkeypatch, tmp_path):
    site = tmp_path / "site-packages"
    (site / "tensorboard").mkdir(parents=True)
    monkeypatch.setattr(machine, "CHECKOUT", site)
    monkeypatch.chdir(tmp_path)
    for variable, (root, name) in ROOTS.items():
        monkeypatch.delenv(variable)
        assert root() == tmp_path / name
    assert machine.image_root() == tmp_path / "data"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("2", 2), ("4", 4), ("99999", 4), ("0", None), ("-1", None), ("some", None), ("", None)],
)
@pytest.mark.parametrize("variable", machine.GRANTS)
def test_cores_are_those_granted_and_no_more_than_there_are(variable, value, expected, monkeypatch):
    monkeypatch.setattr(machine, "usable_cores", lambda: 4)
    monkeypatch.setenv(variable, value)
    assert machine.granted_cores() == expected
    assert machine.cores() == (expected or 4)


def test_cores_without_a_batch_system():
    assert machine.granted_cores() is None
    assert machine.cores() == machine.usable_cores() >= 1


FAULTS = """
import resource, torch
from stable_nalu.machine import keep_freed_memory
{setting}
def iteration():
    parts = [torch.ones(1 << 20) for _ in range(8)]
for _ in range(3): iteration()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10): iteration()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(setting):
    words = [sys.executable, "-c", FAULTS.format(setting=setting)]
    # By itself the C library starts to keep memory at some time that depends on addresses.
    handing_back = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(1 << 20)}
    done = subprocess.run(
        words, cwd=machine.CHECKOUT, env=handing_back, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of glibc")
def test_no_page_is_asked_for_twice():
    assert faults("keep_freed_memory()") < faults("") / 20


def test_another_c_library(monkeypatch):
    monkeypatch.setattr(machine.ctypes, "CDLL", lambda name: object())
    assert machine.keep_freed_memory.__wrapped__() is None
