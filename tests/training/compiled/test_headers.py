import shlex
import shutil
import subprocess

import pytest

from stable_nalu.training.compiled import headers

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
WRAPPER = "#include <cstddef>\n"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(headers, "WRAPPER", WRAPPER)
    monkeypatch.setattr(headers, "HEADERS", f"{WRAPPER}#include <cmath>\n")
    monkeypatch.setattr(headers, "code_cache", lambda: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "a source.cpp"
    path.write_text(f'{WRAPPER}extern "C" double root(double x) {{ return __builtin_sqrt(x); }}\n')
    return path


def command_for(source, compiler="g++"):
    words = [compiler, str(source), "-O2", "-fPIC", "-shared", "-o", f"{source}.so", "-lm"]
    return shlex.join(words)


def compiled(command):
    subprocess.run(shlex.split(command), check=True)


def test_the_same_code_comes_of_precompiled_headers(cache, source):
    def code(command):
        compiled(command)
        words = ["objdump", "--disassemble=root", f"{source}.so"]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    command = command_for(source)
    plain, fast = code(command), code(headers.with_headers(command))
    assert "<root>:" in plain
    assert fast == plain


def test_gcc_accepts_the_headers(cache, source):
    command = headers.with_headers(command_for(source))
    header = shlex.split(command)[2]
    assert shlex.split(command)[:2] == ["g++", "-include"]
    read = subprocess.run(
        [*shlex.split(command), "-H"], check=True, capture_output=True, text=True
    ).stderr
    # GCC marks precompiled headers that it uses so.
    assert read.startswith(f"! {header}.gch")


def test_headers_are_made_once_for_the_same_flags(cache, source):
    first = headers.with_headers(command_for(source))
    (made,) = cache.rglob("*.gch")
    before = made.stat()
    assert headers.with_headers(command_for(source)) == first
    assert made.stat().st_mtime_ns == before.st_mtime_ns
    assert headers.with_headers(command_for(source).replace("-O2", "-O1")) != first
    assert len([*cache.rglob("*.gch")]) == 2


def test_other_sources_are_compiled_as_before(cache, source):
    source.write_text("int zero() { return 0; }\n")
    command = command_for(source)
    assert headers.with_headers(command) == command
    assert not cache.exists()


def test_other_compilers_are_called_as_before(cache, source, tmp_path):
    clang = tmp_path / "compiler"
    clang.write_text("#!/bin/sh\necho clang version 17\n")
    clang.chmod(0o755)
    command = command_for(source, str(clang))
    assert headers.with_headers(command) == command
    assert not cache.exists()


def test_headers_that_cannot_be_compiled_are_left_out(cache, source, monkeypatch):
    monkeypatch.setattr(headers, "HEADERS", "#error no such thing\n")
    command = command_for(source)
    assert headers.with_headers(command) == command
    assert not [*cache.rglob("*.gch")]
    compiled(command)


def test_a_cache_that_cannot_be_written_to_is_left_alone(cache, source):
    cache.write_text("a file")
    command = command_for(source)
    assert headers.with_headers(command) == command
