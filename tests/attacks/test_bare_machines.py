"""A Python without the packages, a home that cannot be written, a reader that leaves."""

import os
import subprocess
import sys

import pytest

from tests.attacks.harness import ROOT, path_of, snapshot

WITHOUT = """
import runpy, sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Nothing())
sys.argv = {argv!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""
ALL = ("torch", "numpy", "pandas", "scipy", "matplotlib", "tensorboardX", "google", "tqdm")


def run(words, cwd, **environment):
    return subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def without_any_package(command, cwd):
    script, *words = command.split()
    code = WITHOUT.format(names=set(ALL), argv=[str(path_of(script)), *words])
    return run(["-S", "-c", code], cwd, PYTHONPATH=str(ROOT))


@pytest.mark.parametrize(
    "command",
    [
        "single_layer --max-iterations 1",
        "batch nips-sltr-in2 0 1 --status",
        "reproduce nips-sltr-in2 --seeds 0 --max-iterations 1",
        "plot --csv x.csv",
        "simple_function_static_export --tensorboard-dir t --csv-out y.csv",
    ],
)
def test_without_any_package(command, tmp_path):
    before = snapshot(tmp_path)
    done = without_any_package(command, tmp_path)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{path_of(command.split()[0]).name}: error: ")
    assert "pip install" in line
    assert snapshot(tmp_path) == before


def test_a_reader_that_leaves(tmp_path):
    """`single_layer --dry-run | head -1`: no traceback, nothing of a broken pipe, and it ends."""
    words = ["--dry-run", "--seed", "0-100000"]
    before = os.times().children_user
    with subprocess.Popen(
        [sys.executable, str(path_of("single_layer")), *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        actual = process.stderr.read()
    assert process.returncode in (0, 141)
    assert actual == ""
    assert os.times().children_user - before < 20
