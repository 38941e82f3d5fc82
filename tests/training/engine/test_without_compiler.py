"""Where nothing can be compiled, or it is not wanted, runs train in plain torch and say so."""

import json
import stat

import pytest

from tests.ensemble.plans import fork, trained
from torchlanes import VERSION

SCRIPT = "single_layer"
WORDS = (
    *("--layer-type", "ReRegualizedLinearMNAC", "--operation", "mul"),
    *("--log-interval", "2"),
)


@pytest.fixture
def finished(tmp_path, monkeypatch):
    """Train in a fork; its exit code and what it says."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(*words, length="3"):
        with fork(tmp_path, SCRIPT, *WORDS, "--max-iterations", length, *words) as process:
            out, errors = process.communicate()
        return process.returncode, out, errors

    return run


def engines(tmp_path):
    """What the records of all runs say that trained them."""
    records = [json.loads(path.read_text()) for path in tmp_path.rglob("*.run.json")]
    return {record["engine"] for record in records}


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def assert_trained_by_torch(finished, tmp_path, reason):
    code, _, errors = finished()
    assert code == 0, errors
    (line,) = errors.splitlines()
    assert line.startswith(f"trained one run at a time by plain torch: {reason}")
    (engine,) = engines(tmp_path)
    assert engine.startswith("torch: ")
    assert line.endswith(engine.removeprefix("torch: "))
    assert len(trained(tmp_path)) == 1


def test_no_compiler(finished, tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "/bin/false")
    reason = "no C++ compiler works: /bin/false ends with exit code 1"
    assert_trained_by_torch(finished, tmp_path, reason)


def test_a_compiler_that_is_not_there(finished, tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    reason = "no C++ compiler works: no-such-compiler: No such file or directory"
    assert_trained_by_torch(finished, tmp_path, reason)


@pytest.mark.parametrize(
    ("name", "flags", "says"),
    [
        ("STABLE_NALU_CXXFLAGS", "-fno-such", "is -fno-such: g++: error: unrecognized command"),
        ("STABLE_NALU_CXXFLAGS", "-g 'a", "is -g 'a; close its quote or backslash"),
        ("CXX", 'g++ "', 'is g++ "; close its quote or backslash'),
    ],
)
def test_flags_that_no_compiler_takes_are_refused(finished, name, flags, says, monkeypatch):
    monkeypatch.setenv(name, flags)
    code, _, errors = finished()
    (line,) = errors.splitlines()
    assert code == 2
    assert f"error: {name} {says}" in line


def test_a_compiler_that_fails_at_a_model(finished, tmp_path, monkeypatch):
    """It may lack memory, or know too little."""
    broken = script(
        tmp_path / "cxx",
        'for w in "$@"; do [ "$w" = "-###" ] && exec g++ "$@"; done\n'
        'cat > "$0.in"; grep -q MT19937 "$0.in" && { echo \'out of memory\' >&2; exit 1; }\n'
        'exec g++ "$@" < "$0.in"',
    )
    monkeypatch.setenv("CXX", broken)
    reason = "the generated C++ does not compile: out of memory"
    assert_trained_by_torch(finished, tmp_path, reason)


def test_compiled_code_that_cannot_be_loaded(finished, tmp_path, monkeypatch):
    """A folder that is mounted with noexec lets nobody load a library."""
    words = 'out=; for w in "$@"; do [ "$last" = -o ] && out=$w; last=$w; done'
    other = script(
        tmp_path / "cxx",
        'for w in "$@"; do [ "$w" = "-###" ] && exec g++ "$@"; done\n'
        f'cat > /dev/null; {words}; echo "no library" > "$out"',
    )
    monkeypatch.setenv("CXX", other)
    assert_trained_by_torch(finished, tmp_path, "compiled code cannot be loaded: ")


def test_a_cache_that_is_no_folder(finished, tmp_path):
    """Libraries are kept elsewhere, until the process ends."""
    (tmp_path / "cache").write_text("")
    assert finished()[0] == 0
    assert engines(tmp_path) == {f"lanes {VERSION}"}


@pytest.mark.parametrize("words", [("--engine", "torch"), ("--no-compile",)])
def test_torch_that_was_asked_for(finished, tmp_path, words):
    code, _, errors = finished(*words)
    assert (code, errors) == (0, "")
    assert engines(tmp_path) == {"torch: --engine torch"}


def test_what_the_engine_makes_is_shown_and_nothing_trained(finished, tmp_path):
    code, out, errors = finished("--show-engine", "--seed", "0-3")
    assert (code, errors) == (0, "")
    assert out.count("MODEL_FUNCTION(run_update)") == 1
    assert not list(tmp_path.rglob("events.*"))


@pytest.mark.parametrize("first", ["lanes", "torch"])
def test_another_engine_does_not_go_on(finished, first):
    """Its last bits differ."""
    other = {"lanes": "torch", "torch": "lanes"}[first]
    assert finished("--engine", first)[0] == 0
    code, _, errors = finished("--engine", other, "--resume", length="5")
    assert code == 2
    assert len(errors.splitlines()) == 1
    assert f"--engine {first}" in errors
