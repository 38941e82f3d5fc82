"""Compiled code that is made once and kept, by several processes, through damage and kills."""

import ctypes
import itertools
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from torchlanes import kept
from torchlanes.kept import CompileError, library_of


def test_compiled_code_is_kept_where_only_the_user_writes(cache_home):
    assert kept.code_cache() == cache_home / "stable-nalu"
    assert kept.code_cache().stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("named", ["", "relative"])
def test_compiled_code_is_kept_below_home_otherwise(cache_home, named, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert kept.code_cache() == tmp_path / ".cache" / "stable-nalu"


def assert_is_a_private_folder_elsewhere(folder, cache_home):
    assert cache_home not in folder.parents
    assert folder.stat().st_mode & 0o777 == 0o700
    assert kept.code_cache() == folder


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_cache_that_others_can_write_to_is_refused(cache_home, mode):
    (cache_home / "stable-nalu").mkdir(parents=True)
    (cache_home / "stable-nalu").chmod(mode)
    with pytest.warns(UserWarning, match="others can write to it"):
        folder = kept.code_cache()
    assert_is_a_private_folder_elsewhere(folder, cache_home)


def test_a_cache_of_another_user_is_refused(cache_home, monkeypatch):
    user = os.geteuid()
    monkeypatch.setattr(kept.os, "geteuid", lambda: user + 1)
    with pytest.warns(UserWarning, match="belongs to another user"):
        folder = kept.code_cache()
    assert_is_a_private_folder_elsewhere(folder, cache_home)


@pytest.mark.parametrize("obstacle", ["a file", "read-only", "no home"])
def test_without_a_cache_folder_code_is_kept_for_the_process(cache_home, obstacle, monkeypatch):
    def refuse(*arguments, **keywords):
        raise OSError("Read-only file system")

    def no_home():
        raise RuntimeError("Could not determine home directory.")

    if obstacle == "a file":
        cache_home.write_text("")
    elif obstacle == "read-only":
        monkeypatch.setattr(kept.Path, "mkdir", refuse)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", "")
        monkeypatch.setattr(kept.Path, "home", no_home)
    assert_is_a_private_folder_elsewhere(kept.code_cache(), cache_home)


FLAGS = ("-O1", "-shared", "-fPIC")


def source(answer):
    return f'extern "C" int answer() {{ return {answer}; }}\n'


@pytest.fixture
def own_cache(cache_home):
    return cache_home / "stable-nalu"


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
    with pytest.raises(CompileError) as caught:
        library_of("no C++", FLAGS)
    assert str(caught.value) == (
        "the generated C++ does not compile: <stdin>:1:1: error: 'no' does not name a type"
    )
    assert not list((gcc / "libraries").iterdir())


def test_a_full_cache_is_named(gcc, monkeypatch, tmp_path):
    compiler = tmp_path / "full"
    compiler.write_text(
        '#!/bin/sh\nfor word; do [ "$word" = "-###" ] && exec g++ "$@"; done\n'
        "echo 'ld: final link failed: No space left on device' >&2; exit 1\n"
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(CompileError, match="^there is no room for compiled code: ld: final"):
        library_of(source(7), FLAGS)


def test_a_cache_that_cannot_keep_a_file_is_named(own_cache):
    own_cache.mkdir(parents=True, mode=0o700)
    (own_cache / "room").symlink_to(own_cache / "nowhere")
    with pytest.raises(CompileError, match="^compiled code cannot be kept: .*room: File exists$"):
        kept.kept("room", [b"a"], lambda path: path.write_bytes(b"a library"))


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

    path = kept.kept("room", [b"a"], make)
    path.write_bytes(DAMAGES[damage](b"a library"))
    assert kept.kept("room", [b"a"], make) == path
    assert path.read_bytes() == b"a library"
    assert kept.kept("room", [b"a"], make) == path
    assert len(made) == 2
    assert list(path.parent.iterdir()) == [path]


OBSTACLES = {
    "a folder": lambda path: (path / "below").mkdir(parents=True),
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a link to a folder": lambda path: path.symlink_to("."),
    "a pipe": os.mkfifo,
}


@pytest.mark.parametrize(
    ("place", "obstacle"),
    [
        *itertools.product(["library"], OBSTACLES),
        *itertools.product(["lock"], ["a link to nothing", "a pipe"]),
    ],
)
def test_what_has_the_name_of_a_kept_file_is_replaced(own_cache, obstacle, place):
    path = kept.kept("room", [b"a"], lambda path: path.write_bytes(b"a library"))
    path.unlink()
    name = path.name.partition("-")[0]
    names = {"library": path.name, "lock": f".{name}.so.lock"}
    OBSTACLES[obstacle](path.with_name(names[place]))
    assert kept.kept("room", [b"a"], lambda path: path.write_bytes(b"a library")) == path
    assert path.read_bytes() == b"a library"
    assert not path.is_symlink()
    (path.parent / "nowhere").unlink(missing_ok=True)
    assert list(path.parent.iterdir()) == [path]


def test_files_of_killed_processes_are_removed_and_those_in_work_stay(own_cache):
    room = own_cache / "room"
    room.mkdir(parents=True)
    own_cache.chmod(0o700)
    left = [room / f".{name}.so.0123.{'f' * 32}" for name in ("killed", "busy")]
    for path in (*left, room / ".another.so.lock"):
        path.write_bytes(b"half")
    with kept.locked(room / "busy.so"):
        path = kept.kept("room", [b"a"], lambda path: path.write_bytes(b"whole"))
        assert set(room.iterdir()) == {path, left[1], room / ".busy.so.lock"}
    other = kept.kept("room", [b"b"], lambda path: path.write_bytes(b"whole"))
    assert set(room.iterdir()) == {path, other}


def test_several_that_need_a_file_wait_for_one(own_cache):
    made = []

    def make(path):
        made.append(path)
        path.write_bytes(b"a library")

    with ThreadPoolExecutor(8) as pool:
        paths = set(pool.map(lambda _: kept.kept("room", [b"a"], make), range(8)))
    assert len(paths) == len(made) == 1
    assert list((own_cache / "room").iterdir()) == [*paths]


def test_what_a_killed_process_left_is_removed(own_cache, monkeypatch):
    def make(path):
        path.write_bytes(b"half")
        monkeypatch.setattr(type(path), "unlink", lambda *_, **__: None)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        kept.kept("room", [b"a"], make)
    monkeypatch.undo()
    assert len(list((own_cache / "room").iterdir())) == 2
    path = kept.kept("room", [b"a"], lambda path: path.write_bytes(b"whole"))
    assert list((own_cache / "room").iterdir()) == [path]
