"""Roots of folders, counts of cores, memory that stays, and compiled code that is made once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stable_nalu.base import files, script
from stable_nalu.base.errors import UsageError

ROOTS = {
    "TENSORBOARD_DIR": (files.tensorboard_root, "tensorboard"),
    "SAVE_DIR": (files.save_root, "save"),
    "RESULTS_DIR": (files.results_root, "results"),
}


@pytest.mark.parametrize("variable", ROOTS)
def test_a_root_comes_from_the_environment(variable, monkeypatch, tmp_path):
    root, name = ROOTS[variable]
    monkeypatch.setenv(variable, str(tmp_path / "there"))
    assert root() == tmp_path / "there"
    for unset in (lambda: monkeypatch.setenv(variable, ""), lambda: monkeypatch.delenv(variable)):
        unset()
        assert root() == Path(__file__).resolve().parents[2] / name


def test_an_installed_package_writes_below_the_current_folder(monkeypatch, tmp_path):
    site = tmp_path / "site-packages"
    (site / "tensorboard").mkdir(parents=True)
    monkeypatch.setattr(files, "CHECKOUT", site)
    monkeypatch.chdir(tmp_path)
    for variable, (root, name) in ROOTS.items():
        monkeypatch.delenv(variable)
        assert root() == tmp_path / name
    assert files.image_root() == tmp_path / "data"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *(("2", 2), ("4", 4), ("99999", 4), ("٣", 3)),
        *((value, None) for value in ("0", "-1", "some", "", "1.5", " 1")),
    ],
)
@pytest.mark.parametrize("variable", script.GRANTS)
def test_cores_are_those_granted_and_no_more_than_there_are(variable, value, expected, monkeypatch):
    monkeypatch.setattr(script, "usable_cores", lambda: 4)
    monkeypatch.setenv(variable, value)
    assert script.granted_cores() == expected
    assert script.cores() == (expected or 4)


FAULTS = """
import resource, torch
from stable_nalu.base.script import keep_freed_memory
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def iterate(times):
    for _ in range(times): parts = [torch.ones(1 << 19) for _ in range(4)]
for act in (int, keep_freed_memory):
    act()
    iterate(3)
    before = faults()
    iterate(100)
    print(faults() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of glibc")
def test_no_page_is_asked_for_twice():
    # By itself the C library starts to keep memory at some time that depends on addresses. What is
    # kept still grows by some blocks when gaps do not fit, hence the many iterations.
    handing_back = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(1 << 20)}
    words = [sys.executable, "-c", FAULTS]
    actual = subprocess.check_output(words, cwd=files.CHECKOUT, env=handing_back, text=True)
    plain, kept = map(int, actual.split())
    assert kept < plain / 20


def test_another_c_library(monkeypatch):
    monkeypatch.setattr(script.ctypes, "CDLL", lambda name: object())
    assert script.keep_freed_memory.__wrapped__() is None


def test_a_home_that_there_is_not(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.at_home(Path("~/logs")) == tmp_path / "logs"
    with pytest.raises(UsageError, match="there is no home folder for ~nosuchuser/logs"):
        files.at_home(Path("~nosuchuser/logs"))


def test_the_processor_has_a_name_of_one_line() -> None:
    name = script.processor()
    assert name
    assert name == " ".join(name.split())
