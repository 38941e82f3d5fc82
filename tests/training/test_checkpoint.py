"""Files of a run: whole or not at all, free of pickled code, and the roots they go to."""

import contextlib
import os
import resource
import stat

import numpy as np
import pytest
import torch

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import atomic_path
from stable_nalu.dataset.distribution import LegacyRandom
from stable_nalu.training.checkpoint import (
    load_torch,
    model_file,
    pending_file,
    put_back,
    save_together,
    save_torch,
    saved_state,
    sweep,
)

CONTENT = {"epoch": 3, "weights": {"W": torch.arange(3.0)}, "best": float("inf"), "names": ["a"]}


def test_what_is_saved_is_loaded(tmp_path):
    path = tmp_path / "deep" / "run.pth"
    save_torch(path, CONTENT)
    loaded = load_torch(path)
    assert torch.equal(loaded["weights"].pop("W"), CONTENT["weights"]["W"])
    assert loaded == {"epoch": 3, "weights": {}, "best": float("inf"), "names": ["a"]}
    assert [entry.name for entry in path.parent.iterdir()] == ["run.pth"]


def test_a_disk_that_is_full_anywhere_in_a_model_is_said_in_one_line(tmp_path):
    path = tmp_path / "run.pth"
    save_torch(path, CONTENT)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        for size in range(0, len(before), 32):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
            with pytest.raises(UsageError, match=rf"cannot write {path}: File too large; set SAVE"):
                save_torch(path, CONTENT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_states_that_cannot_be_saved_together_leave_nothing_pending(tmp_path):
    first, second = tmp_path / "a.pth", tmp_path / "b.pth"
    pending_file(second).mkdir()
    with pytest.raises(UsageError, match=rf"^cannot write {second}: it is a folder"):
        save_together([(first, CONTENT), (second, CONTENT)])
    assert list(tmp_path.iterdir()) == [pending_file(second)]


def test_what_a_killed_process_was_writing_is_removed_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("SAVE_DIR", str(tmp_path))
    names = [f"t/{'long' * 30}_s{seed}" for seed in range(2)]
    for name in names:
        killed_while_writing(model_file(tmp_path, name))
        killed_while_writing(pending_file(model_file(tmp_path, name)))
        killed_while_writing(model_file(tmp_path / "lowest_interp_model", name))
    save_torch(model_file(tmp_path, names[0]), CONTENT)
    other = [path for path in tmp_path.rglob("*") if path.is_file()]
    sweep(names[:1])
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert (len(other), len(left)) == (7, 4)
    assert model_file(tmp_path, names[0]) in left
    sweep(names)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [model_file(tmp_path, names[0])]


def killed_while_writing(path):
    """What a process leaves behind that is killed before its file takes the place of `path`."""
    own = pytest.MonkeyPatch.context()
    with own as patch, contextlib.suppress(RuntimeError), atomic_path(path) as temporary:
        temporary.write_bytes(b"half")
        patch.setattr(type(temporary), "unlink", lambda *_, **__: None)
        raise RuntimeError


def test_others_may_read_what_the_umask_lets_them(tmp_path):
    path = tmp_path / "run.pth"
    umask = os.umask(0o027)
    try:
        save_torch(path, CONTENT)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_long_names(tmp_path):
    path = tmp_path / ("n" * 251 + ".pth")
    save_torch(path, CONTENT)
    assert load_torch(path)["epoch"] == 3
    assert model_file(tmp_path, "n" * 251) == path
    longer = [model_file(tmp_path, "n" * 300 + end) for end in "ab"]
    assert longer[0] != longer[1]
    for file in longer:
        assert file.suffix == ".pth"
        save_torch(file, CONTENT)


GENERATORS = {
    "torch": (torch.Generator().manual_seed(3), lambda g: torch.randn(3, generator=g).tolist()),
    "NumPy": (np.random, lambda g: [*g.normal(size=3), *g.rand(3)]),
    "data": (np.random.default_rng(3), lambda g: g.normal(size=3).tolist()),
    "streams": (LegacyRandom(3), lambda g: g.doubles((3,)).tolist()),
}


@pytest.mark.parametrize("kind", GENERATORS)
def test_a_generator_goes_on_from_a_file(kind, tmp_path):
    generator, draw = GENERATORS[kind]
    draw(generator)
    save_torch(tmp_path / "state.pth", {"state": saved_state(generator)})
    expected = draw(generator)
    draw(generator)
    put_back(generator, load_torch(tmp_path / "state.pth")["state"])
    assert draw(generator) == expected
