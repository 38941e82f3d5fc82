"""Compiled code is made once, and again where the kept file is not what it was."""

import ctypes
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from stable_nalu import compiled_files
from stable_nalu.compiled_files import kept, library_of
from stable_nalu.machine import code_cache

FLAGS = ("-O1", "-shared", "-fPIC")


def source(answer):
    return f'extern "C" int answer() {{ return {answer}; }}\n'


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    code_cache.cache_clear()
    yield tmp_path / "cache" / "stable-nalu"
    code_cache.cache_clear()


@pytest.fixture
def gcc(own_cache):
    if not shutil.which("g++"):
        pytest.skip("no C++ compiler")
    return own_cache


def test_a_library_is_compiled_once(gcc, monkeypatch):
    path = library_of(source(7), FLAGS)
    assert ctypes.CDLL(str(path)).answer() == 7
    assert path.parent == gcc / "libraries"
    assert path.parent.stat().st_mode & 0o777 == 0o700
    other = library_of(source(8), FLAGS)
    assert len({path, other, library_of(source(7), (*FLAGS, "-g"))}) == 3
    monkeypatch.setattr(subprocess, "run", None)
    assert library_of(source(7), FLAGS) == path


def test_code_that_cannot_be_compiled_leaves_nothing(gcc):
    with pytest.raises(subprocess.CalledProcessError):
        library_of("no C++", FLAGS)
    assert not list((gcc / "libraries").iterdir())


DAMAGES = {
    "empty": lambda content: b"",
    "cut off": lambda content: content[: len(content) // 2],
    "with another byte": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_made_again(own_cache, damage):
    made = []

    def make(path):
        made.append(path)
        path.write_bytes(b"a library")

    path = kept("room", [b"a"], make)
    path.write_bytes(DAMAGES[damage](b"a library"))
    assert kept("room", [b"a"], make) == path
    assert path.read_bytes() == b"a library"
    assert kept("room", [b"a"], make) == path
    assert len(made) == 2
    assert list(path.parent.iterdir()) == [path]


def test_several_that_need_a_file_wait_for_one(own_cache):
    made = []

    def make(path):
        made.append(path)
        path.write_bytes(b"a library")

    with ThreadPoolExecutor(8) as pool:
        paths = set(pool.map(lambda _: kept("room", [b"a"], make), range(8)))
    assert len(paths) == len(made) == 1
    assert list((own_cache / "room").iterdir()) == [*paths]


def test_what_a_killed_process_left_is_removed(own_cache, monkeypatch):
    def make(path):
        path.write_bytes(b"half")
        monkeypatch.setattr(type(path), "unlink", lambda *_, **__: None)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        kept("room", [b"a"], make)
    monkeypatch.undo()
    monkeypatch.setattr(compiled_files, "code_cache", lambda: own_cache)
    assert len(list((own_cache / "room").iterdir())) == 2
    path = kept("room", [b"a"], lambda path: path.write_bytes(b"whole"))
    assert list((own_cache / "room").iterdir()) == [path]
