"""A program in a sandbox of bubblewrap: no network, no writing outside, and limits.

It sees the system's programs, Python, this package and the files that it is given, all read-only.
Its working folder is in memory and new for every call. Its processes end with it.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import CHECKOUT
from stable_nalu.result.stored import DATA
from stable_nalu.statistics.setups import SHIPPED

SECONDS, GIGABYTES, PROCESSES = 600, 12, 256
MOST_BYTES = 10**6
"""Of an answer, and of a file of a submission."""
_SCRATCH_BYTES, _FILE_BYTES = 2**30, 2**28
_PASSED = ("PATH", "LANG", "CXX", "LD_LIBRARY_PATH", "STABLE_NALU_CXXFLAGS", "STABLE_NALU_ENGINE")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache")
_SYSTEM += ("/sys/devices/system/cpu", sys.base_prefix, sys.prefix)
_PARTS = ("stable_nalu", "torchlanes", "setup.py", "experiments")
_PACKAGE = (*(CHECKOUT / name for name in _PARTS), DATA)


def fenced(
    words: Sequence[str],
    files: Mapping[str, bytes],
    *,
    fence: bool = True,
    seconds: int = SECONDS,
    gigabytes: int = GIGABYTES,
) -> bytes:
    """Run Python with these words and the folder of the files, and return its standard output.

    It raises UsageError if the program fails or exceeds a limit. fence: False runs it without the
    sandbox.
    """
    with (
        TemporaryDirectory(prefix="submission-") as place,
        TemporaryFile() as output,
        TemporaryFile() as messages,
    ):
        given, scratch = Path(place, "given"), Path(place, "scratch")
        for folder in (given, scratch):
            folder.mkdir()
        for name, content in files.items():
            (given / name).write_bytes(content)
        sandbox = _sandbox(given, scratch) if fence else []
        kept = {name: os.environ[name] for name in _PASSED if name in os.environ}
        kept |= dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME"), str(scratch))
        kept |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(CHECKOUT)}
        with subprocess.Popen(
            [*sandbox, *_limits(seconds, gigabytes), sys.executable, "-P", *words, str(given)],
            cwd=scratch,
            env={**kept, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=messages,
            start_new_session=True,
        ) as process:
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                raise UsageError(f"it was stopped after {seconds} s") from None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        if abs(code) % 128 in (signal.SIGXCPU, signal.SIGKILL):
            raise UsageError(f"it was stopped, at the latest after {seconds} s of CPU time")
        if code:
            messages.seek(max(0, messages.seek(0, os.SEEK_END) - 2000))
            lines = messages.read(2000).decode(errors="replace").strip().splitlines()
            raise UsageError(lines[-1] if lines else f"exit code {code}")
        output.seek(0)
        answer = output.read(MOST_BYTES + 1)
    if len(answer) > MOST_BYTES:
        raise UsageError(f"its answer is larger than {MOST_BYTES:,} bytes")
    return answer


def obstacle() -> str | None:
    """Return why there is no sandbox on this machine, or None if it works."""
    try:
        with TemporaryDirectory() as folder:
            words = [*_sandbox(Path(folder), Path(folder)), "true"]
            done = subprocess.run(words, capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap (bwrap) does not start: {getattr(error, 'strerror', 'it hangs')}"
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return f"bubblewrap does not work here: {said[-1] if said else ''}" if done.returncode else None


def _sandbox(given: Path, scratch: Path) -> list[str]:
    read, size = [*_SYSTEM, *_PACKAGE, *SHIPPED, given], str(_SCRATCH_BYTES)
    return [
        *("bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"),
        *("--die-with-parent", "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"),
        *(word for path in read for word in ("--ro-bind-try", str(path), str(path))),
        *("--size", size, "--tmpfs", str(scratch), "--remount-ro", "/", "--chdir", str(scratch)),
    ]


def _limits(seconds: int, gigabytes: int) -> list[str]:
    """Return the words that limit a command; none if the system has no `prlimit`."""
    if shutil.which("prlimit") is None:
        return []
    memory, cpu = f"--as={gigabytes * 2**30}", f"--cpu={seconds}"
    size, count = f"--fsize={_FILE_BYTES}", f"--nproc={PROCESSES}"
    return ["prlimit", memory, cpu, size, count, "--core=0"]
