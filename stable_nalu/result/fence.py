"""A process for code of others: limits of time and memory, and no writing outside its folder.

On Linux the kernel refuses to write elsewhere and to connect (Landlock, where it is there). A hook
of Python refuses the same as a second fence, which code in the same process may get around. What
it may still do is read files that the user can read.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shlex
import signal
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stable_nalu.errors import UsageError
from stable_nalu.machine import CHECKOUT

REQUEST, ANSWER = "request.json", "answer.json"
SECONDS, GIGABYTES = 600, 12
_LARGEST = 2**30
"""Bytes of a file that it may write."""
_PASSED = ("PATH", "LANG", "CXX", "LD_LIBRARY_PATH", "STABLE_NALU_CXXFLAGS", "STABLE_NALU_ENGINE")
_CREATE, _ADD_RULE, _RESTRICT, _NO_NEW_RIGHTS = 444, 445, 446, 38
"""Calls of the kernel, of the same numbers on every processor, and an option of `prctl`."""
_FILE_RIGHTS = 1 << 1 | 1 << 14
_RIGHTS = {1: 1 << 1 | sum(1 << k for k in range(4, 13)), 2: 1 << 13, 3: 1 << 14}
"""Version of Landlock -> what it can refuse: writing, removing, making, moving, cutting."""
_TCP = 0b11
_REFUSED = ("socket.connect", "socket.bind", "socket.getaddrinfo", "os.system", "os.exec")
_REFUSED += ("os.posix_spawn", "os.spawn", "os.fork")
_CHANGES = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink")
_CHANGES += ("os.chmod", "os.chown", "os.truncate", "shutil.rmtree", "shutil.move")


def fenced(
    module: str,
    folder: Path,
    request: Mapping[str, Any],
    seconds: int = SECONDS,
    gigabytes: int = GIGABYTES,
) -> Any:
    """Run `python -m module FOLDER` behind a fence, and return what it answers to a request.

    UsageError says why there is no answer.
    """
    limits = {"seconds": seconds, "gigabytes": gigabytes}
    (folder / REQUEST).write_text(json.dumps({**request, "limits": limits}))
    (folder / ANSWER).unlink(missing_ok=True)
    given = {name: os.environ[name] for name in _PASSED if name in os.environ}
    places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME"), str(folder))
    fixed = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(CHECKOUT), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", module, str(folder)],
        cwd=folder,
        env={**given, **places, **fixed},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            out, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise UsageError(f"it was stopped after {seconds} s") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise UsageError(f"it was stopped, at the latest after {seconds} s of the processor")
    if process.returncode or not (folder / ANSWER).exists():
        said = out.decode(errors="replace").strip().splitlines()
        raise UsageError(said[-1] if said else f"exit code {process.returncode}")
    return json.loads((folder / ANSWER).read_text())


def enter(folder: Path) -> Mapping[str, Any]:
    """Put this process behind the fence, and return what is asked of it."""
    request = json.loads((folder / REQUEST).read_text())
    size = request["limits"]["gigabytes"] * 2**30
    for kind, most in (
        (resource.RLIMIT_CPU, request["limits"]["seconds"]),
        (resource.RLIMIT_AS, size),
        (resource.RLIMIT_FSIZE, _LARGEST),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))
    landlock(folder)
    sys.addaudithook(_hook(folder.resolve()))
    return request


def answer(folder: Path, found: Any) -> None:
    """Leave what was found for the process outside."""
    (folder / ANSWER).write_text(json.dumps(found))


def landlock(folder: Path) -> int:
    """Let the kernel refuse writing outside a folder; return its version, 0 where it cannot."""
    if not sys.platform.startswith("linux"):
        return 0
    libc = ctypes.CDLL(None, use_errno=True)

    def call(number: int, *words: Any) -> int:
        return libc.syscall(ctypes.c_long(number), *words)

    version = call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if version < 1:
        return 0
    rights = sum(bits for known, bits in _RIGHTS.items() if known <= version)
    rules = struct.pack("QQ", rights, _TCP) if version >= 4 else struct.pack("Q", rights)
    made = call(_CREATE, rules, ctypes.c_size_t(len(rules)), ctypes.c_uint(0))
    for path, allowed in ((folder, rights), (Path(os.devnull), rights & _FILE_RIGHTS)):
        place = os.open(path, os.O_PATH)
        rule = struct.pack("=Qi", allowed, place)
        call(_ADD_RULE, ctypes.c_int(made), ctypes.c_int(1), rule, ctypes.c_uint(0))
        os.close(place)
    libc.prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0)
    closed = call(_RESTRICT, ctypes.c_int(made), ctypes.c_uint(0))
    os.close(made)
    return 0 if closed else version


def _hook(folder: Path) -> Any:
    """Return what refuses events; the compiler of the engine is the one program that may start."""
    compiler = shlex.split(os.environ.get("CXX") or "g++")[0]

    def inside(path: Any) -> bool:
        if isinstance(path, int):
            return True
        place = Path(os.fsdecode(path)).resolve()
        return place == Path(os.devnull) or place.is_relative_to(folder)

    def hook(event: str, words: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = words
            written = (mode and set(mode) & set("wax+")) or (flags or 0) & (os.O_WRONLY | os.O_RDWR)
            if written and not inside(path):
                raise PermissionError(f"it must not write {path}")
        elif event in _CHANGES:
            paths = [word for word in words if isinstance(word, str | bytes | os.PathLike)]
            if not all(map(inside, paths)):
                raise PermissionError(f"it must not change {paths[0]}")
        elif event == "subprocess.Popen" and os.fsdecode(words[0]) != compiler:
            raise PermissionError(f"it must not start {words[0]}")
        elif event.startswith(_REFUSED):
            raise PermissionError(f"it must not use {event}")

    return hook
