"""Finished runs, made once, and the folder that each attack happens in."""

import os
from pathlib import Path
from unittest import mock

import pytest

from tests.attacks.harness import Place
from tests.attacks.subjects import make_runs


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained runs, their models and an export of them, by the names that they have in a test."""
    folder = tmp_path_factory.mktemp("made")
    roots = {"TENSORBOARD_DIR": "tensorboard", "SAVE_DIR": "save", "RESULTS_DIR": "results"}
    with mock.patch.dict(os.environ, {name: str(folder / root) for name, root in roots.items()}):
        make_runs(folder)
    return folder


@pytest.fixture
def place(
    tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Place:
    """The folder of one attack."""
    return Place(tmp_path, made, monkeypatch, capfd)
