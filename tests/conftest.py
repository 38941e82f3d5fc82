"""What every test can rely on: one thread, fixed seeds, no trace left behind."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import stable_nalu  # noqa: F401 — settles how matrix products round, before the first of them
from stable_nalu.base.files import EXTRA_FLAGS
from stable_nalu.training import shell
from torchlanes.kept import code_cache

SEED = 20200401
FORMULAS, shell.MOST_FORMULAS = shell.MOST_FORMULAS, 0
"""Of how many runs a command tells the formula; of none here, as that takes longer than a run."""

# Thread count is part of the figures: a second thread sums large means in another order.
torch.set_num_threads(1)
# Full optimisation computes the same bits, and takes several times as long to compile; without any,
# runs take three times as long.
os.environ.setdefault(EXTRA_FLAGS, "-Og")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `gpu` skip themselves where there is none."""
    if torch.cuda.is_available():
        return
    skip = pytest.mark.skip(reason="needs CUDA")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def _same_state_for_every_test() -> Iterator[None]:
    """Global generators start from one seed; dtype, threads and generators are put back."""
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()
    # `torch.manual_seed` also notes, for devices that are not there, where it was called from.
    torch.default_generator.manual_seed(SEED)
    np.random.seed(SEED)
    yield
    torch.set_default_dtype(dtype)
    torch.set_num_threads(threads)
    torch.set_rng_state(torch_state)
    np.random.set_state(numpy_state)


@pytest.fixture
def optimised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile as users do, for one test."""
    monkeypatch.delenv(EXTRA_FLAGS)


@pytest.fixture
def formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands tell the formulas of their runs, for one test."""
    monkeypatch.setattr(shell, "MOST_FORMULAS", FORMULAS)


@pytest.fixture
def cache_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A cache folder of the user, where nothing has been looked at yet."""
    code_cache.cache_clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    code_cache.cache_clear()


@pytest.fixture
def double_precision() -> None:
    """Float64 as torch's default dtype, for one test."""
    torch.set_default_dtype(torch.float64)


@pytest.fixture(autouse=True)
def _layers_of_this_package_only() -> Iterator[None]:
    """Layers that a test loads from files or registers are forgotten after it."""
    yield
    if "stable_nalu.layer.own_layers" not in sys.modules:
        return
    from stable_nalu.layer import own_layers, registry

    for entry in registry.own_entries():
        registry.drop(entry.key)
    own_layers._loaded.clear()


@pytest.fixture(autouse=True)
def _own_roots(
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """Keep runs and models of a test in its own folder, and images and cores of a user away.

    Where a test names no `tmp_path`, the folder is made by the first file in it, if there is one.
    """
    named = "tmp_path" in request.fixturenames
    own = request.getfixturevalue("tmp_path") if named else tmp_path_factory.getbasetemp() / "own"
    monkeypatch.setenv("TENSORBOARD_DIR", str(own / "tensorboard"))
    monkeypatch.setenv("SAVE_DIR", str(own / "save"))
    monkeypatch.setenv("RESULTS_DIR", str(own / "results"))
    for name in ("IMAGE_DIR", "LSB_DJOB_NUMPROC", "SLURM_CPUS_PER_TASK"):
        monkeypatch.delenv(name, raising=False)
    yield
    if not named:
        shutil.rmtree(own, ignore_errors=True)
