"""Samples drawn in C++ are NumPy's, and the generator stands where NumPy would leave it."""

import ctypes
import ctypes.util
import shutil

import numpy as np
import pytest
import torch
from stable_nalu.training.compiled.plain_operations import plain

from stable_nalu import native
from stable_nalu.dataset import SimpleFunctionStaticDataset
from stable_nalu.dataset.legacy_random import LegacyRandom
from stable_nalu.machine import code_cache

LONGER = {"_fields_": [("one_more", ctypes.c_int64)]}
COUNTS = (1, 2, 311, 312, 313, 624, 100_003)


@pytest.fixture
def loaded(monkeypatch):
    monkeypatch.setattr(native, "_library", None)
    if not shutil.which("g++"):
        pytest.skip("no C++ compiler")
    assert native.load()


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("words_before", [0, 1, 623, 624])
def test_doubles_and_state(words_before):
    theirs, ours = np.random.RandomState(7), LegacyRandom(7)
    theirs.randint(0, 2**32, words_before, dtype=np.uint32)
    ours.skip_words(words_before)
    for count in COUNTS:
        assert np.array_equal(ours.doubles((count,)), theirs.random_sample(count))
        _, key, position, *_ = theirs.get_state()
        assert ours.position() == (key.tobytes(), position)


@pytest.mark.usefixtures("loaded")
def test_other_draws_follow():
    theirs, ours = np.random.RandomState(3), LegacyRandom(3)
    for count in (5, 1000):
        assert np.array_equal(ours.doubles((count,)), theirs.random_sample(count))
        assert np.array_equal(ours.permutation(9), theirs.permutation(9))
        assert np.array_equal(ours.integers(0, 17, (count,)), theirs.randint(0, 17, count))


@pytest.mark.parametrize("sample_range", [[1, 2], [[-2, -1], [1, 2]]])
def test_a_stream_may_change_sides(monkeypatch, loaded, sample_range):
    def stream():
        data = SimpleFunctionStaticDataset("mul", 100, subset_ratio=0.25, overlap_ratio=0.5, seed=1)
        return data.fork(sample_range)

    native_library = native._library
    changing, plain = stream(), stream()
    for library in (None, native_library, None, native_library):
        monkeypatch.setattr(native, "_library", library)
        found = changing.draw(3, 128)
        monkeypatch.setattr(native, "_library", None)
        for ours, theirs in zip(found, plain.draw(3, 128), strict=True):
            assert ours.equal(theirs)


@pytest.mark.parametrize(
    "failure",
    ["no compiler", "no function", "another size", "other numbers", "another order of sums"],
)
def test_numpy_draws_where_code_cannot_be_made_or_trusted(monkeypatch, failure):
    if failure == "no compiler":
        monkeypatch.setenv("CXX", "no-such-compiler")
    elif failure == "no function":
        # Another library, as an earlier or foreign one may lack a function.
        monkeypatch.setattr(native, "_compiled", lambda: ctypes.util.find_library("c"))
    elif failure == "another size":
        monkeypatch.setattr(native, "SampleBlock", type("Longer", (native.SampleBlock,), LONGER))
    else:
        check = {"other numbers": "_draws_as_numpy", "another order of sums": "_adds_as_numpy"}
        monkeypatch.setattr(native, check[failure], lambda library: False)
    native._checked_library.cache_clear()
    monkeypatch.setattr(native, "_library", None)
    assert not native.load()
    expected = np.random.RandomState(11).random_sample(1000)
    assert np.array_equal(LegacyRandom(11).doubles((1000,)), expected)
    native._checked_library.cache_clear()


def test_the_library_is_loaded_from_the_own_cache(monkeypatch, tmp_path):
    """A library that somebody left in the folder that torch uses is not looked at."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    library = native._compiled()
    assert library.parent == code_cache() / "native"
    assert library.stat().st_mode & 0o22 == 0
    written = library.stat().st_mtime_ns
    assert native._compiled() == library
    assert library.stat().st_mtime_ns == written
    assert not list(tmp_path.iterdir())


def test_another_compiler_or_processor_has_a_library_of_its_own(monkeypatch):
    own = native._compiled()
    monkeypatch.setattr(native, "FLAGS", (*native.FLAGS, "-mtune=generic"))
    assert native._compiled() != own


def test_a_pointer_of_another_type_is_refused():
    block = native.SampleBlock(x=native.pointer(np.zeros(3, np.float32)))
    assert block.x[2] == 0
    with pytest.raises(TypeError):
        native.SampleBlock(x=native.pointer(np.zeros(3)))


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("shape", [(225, 10, 128), (3, 128, 10), (2, 1, 7), (2, 7, 1), (1, 0, 4)])
def test_matrices_are_turned(shape):
    x = torch.randn(shape)
    turned = plain.turned(x)
    assert turned.is_contiguous()
    assert torch.equal(turned, x.mT)


@pytest.mark.usefixtures("loaded")
def test_matrices_of_doubles_are_turned():
    x = torch.randn(4, 10, 128, dtype=torch.float64)
    assert torch.equal(plain.turned(x), x.mT)
