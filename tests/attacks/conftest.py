"""Finished runs, made once, and the folder that each attack happens in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.attacks.harness import Place
from tests.attacks.subjects import make_runs


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained runs, their models and an export of them, by the names that they have in a test."""
    folder = tmp_path_factory.mktemp("made")
    roots = {"TENSORBOARD_DIR": "tensorboard", "SAVE_DIR": "save", "RESULTS_DIR": "results"}
    before = {name: os.environ.get(name) for name in roots}
    os.environ.update({name: str(folder / root) for name, root in roots.items()})
    try:
        make_runs(folder)
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return folder


@pytest.fixture
def place(
    tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Place:
    """The folder of one attack."""
    return Place(tmp_path, made, monkeypatch, capfd)
