"""The sandbox of submissions: attacks that must fail, and limits."""

import os
import socket
from pathlib import Path

import pytest

from stable_nalu.base.errors import UsageError
from stable_nalu.bench.fence import fenced, obstacle
from tests.processes import until


@pytest.fixture(autouse=True, scope="module")
def sandbox():
    if problem := obstacle():
        pytest.skip(problem)


def run(code, *arguments, **limits):
    """Return what a program prints behind the fence."""
    return fenced(["-c", code, *map(str, arguments)], {"layer.py": b"pass"}, **limits).decode()


def test_files_outside_cannot_be_written_or_seen(tmp_path):
    (tmp_path / "secret").write_text("x")
    code = """
import os, sys
*places, given = sys.argv[1:]
for path in [*places, given + "/new", given + "/layer.py", "/new", "/usr/new", "/dev/shm/new"]:
    try:
        open(path, "w").close()
        print("wrote", path)
    except OSError:
        pass
print(os.path.exists(places[0]), os.path.exists(os.path.expanduser("~root/.ssh")))
open("own", "w").write("x")
open(os.devnull, "w").write("x")
"""
    outside = [tmp_path / "secret", Path(__file__).with_name("new"), Path.home() / "new"]
    assert run(code, *outside) == "False False\n"
    assert (tmp_path / "secret").read_text() == "x"


def test_nobody_can_be_reached_by_the_network():
    code = """
import socket, sys
internet = socket.AF_INET, ("127.0.0.1", int(sys.argv[1]))
for kind, place in (internet, (socket.AF_UNIX, "\\0" + sys.argv[2])):
    try:
        socket.socket(kind).connect(place)
        print("connected")
    except OSError:
        pass
"""
    name = f"stable-nalu-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(f"\0{name}")
        local.listen()
        assert run(code, server.getsockname()[1], name) == ""


def test_modules_in_the_working_folder_are_not_imported():
    """No program imports from there, and the next one starts in another folder."""
    code = """
import os, subprocess, sys
print(os.listdir("."))
for name in ("stable_nalu", "json"):
    open(name + ".py", "w").write("raise SystemExit('imported')")
import json, stable_nalu
"""
    assert [run(code), run(code)] == ["[]\n"] * 2


def test_links_that_a_program_makes_are_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("as it was")
    code = """
import os, sys
victim, given = sys.argv[1:]
for name in ("request.json", "answer.json", "layer.py", "card.toml"):
    for folder in (".", given, os.path.dirname(given)):
        try:
            os.remove(f"{folder}/{name}")
        except OSError:
            pass
        try:
            os.symlink(victim, f"{folder}/{name}")
        except OSError:
            pass
print("answer")
"""
    assert [run(code, victim), run(code, victim)] == ["answer\n"] * 2
    assert victim.read_text() == "as it was"


@pytest.mark.parametrize("end", ["pass", "time.sleep(60)"], ids=["returns", "is stopped"])
def test_no_process_survives_a_call(end):
    code = """
import os, sys, time
for leaves in (False, True):
    if os.fork() == 0:
        if leaves:
            os.setsid()
            if os.fork():
                os._exit(0)
        open(f"up{leaves}", "w").close()
        os.execvp("sleep", ["sleep", sys.argv[1]])
while not (os.path.exists("upTrue") and os.path.exists("upFalse")):
    time.sleep(0.01)
print("both run", flush=True)
"""
    mark = f"86399.{os.getpid()}{len(end)}"
    if end == "pass":
        assert run(code, mark) == "both run\n"
    else:
        with pytest.raises(UsageError, match="stopped after 3 s"):
            run(code + end, mark, seconds=3)
    until(lambda: not _running(mark))


def _running(mark):
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(mark.encode() in path.read_bytes())
        except OSError:  # It has just ended.
            continue
    return any(found)


def test_the_users_environment_stays_outside(monkeypatch):
    monkeypatch.setenv("SECRET", "x")
    code = "import os; print('SECRET' in os.environ, os.environ['HOME'] == os.getcwd())"
    assert run(code) == "False True\n"


@pytest.mark.parametrize(
    ("code", "limits", "said"),
    [
        ("while True: pass", {"seconds": 1}, "stopped"),
        ("import time; time.sleep(60)", {"seconds": 1}, "stopped after 1 s"),
        ("bytearray(2 ** 33)", {"gigabytes": 1}, "MemoryError"),
        ("open('x', 'wb').truncate(2 ** 29)", {}, "File too large"),
        ("print('x' * 10 ** 6)", {}, "answer is larger than 1,000,000 bytes"),
        ("raise ValueError('no')", {}, "ValueError: no"),
    ],
)
def test_limits_end_a_program(code, limits, said):
    with pytest.raises(UsageError, match=said):
        run(code, **limits)


@pytest.mark.skipif(os.geteuid() == 0, reason="the kernel does not count processes of root")
def test_the_number_of_processes_is_limited():
    code = "import os, time\nfor _ in range(999):\n    if not os.fork():\n        time.sleep(9)"
    with pytest.raises(UsageError, match="BlockingIOError"):
        run(code)


def test_the_working_folder_is_limited():
    code = "import os; place = os.statvfs('.'); print(place.f_blocks * place.f_frsize)"
    assert run(code) == f"{2**30}\n"
