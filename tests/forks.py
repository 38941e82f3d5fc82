"""Scripts in forks of one process that has imported torch, which takes longer than most work.

A fork is a process like any other: it has its own session, and is signalled, killed and waited for.
Only what a fresh interpreter does before the first line of a script was done before.
"""

import atexit
import gc
import json
import multiprocessing
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import cast

from tests.processes import PAUSE

LONGEST_REQUEST = 1 << 20
IMPORTED = ("torch", "tensorboardX", "stable_nalu.result", "stable_nalu.task.table")
"""Modules that every fork has."""


class Fork:
    """What `subprocess.Popen` is to a process of a command, with its output in pipes."""

    def __init__(
        self, path: str, words: Sequence[str], env: Mapping[str, str], before: str, imports: str
    ):
        pipes = [os.pipe() for _ in range(2)]
        request = {"path": path, "words": words, "env": dict(env), "before": before}
        request["imports"] = imports.split()
        self.pid = cast("int", _asked(request, [writing for _, writing in pipes]))
        for _, writing in pipes:
            os.close(writing)
        self.stdout, self.stderr = (os.fdopen(reading) for reading, _ in pipes)
        self.returncode: int | None = None

    def __enter__(self) -> "Fork":
        return self

    def __exit__(self, kind, error, traceback, /) -> None:
        self.stdout.close()
        self.stderr.close()
        self.wait()

    def poll(self) -> int | None:
        """Return the exit code, or minus the number of the signal, of a process that has ended."""
        if self.returncode is None:
            self.returncode = _asked({"poll": self.pid})
        return self.returncode

    def wait(self) -> int:
        """Return the exit code once there is one."""
        while (code := self.poll()) is None:
            time.sleep(PAUSE)
        return code

    def communicate(self) -> tuple[str, str]:
        """Return all output and errors that were not read before, once the process has ended."""
        errors: list[str] = []
        reader = threading.Thread(target=lambda: errors.append(self.stderr.read()))
        reader.start()
        output = self.stdout.read()
        reader.join()
        self.wait()
        return output, errors[0]

    def terminate(self) -> None:
        """Tell the process to stop, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


@cache
def _template() -> socket.socket:
    """Start the process that forks, and return the way to talk to it; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    number = theirs.fileno()
    code = f"from tests.forks import become; become({number})"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        cwd=os.path.dirname(os.path.dirname(__file__)),  # noqa: PTH120
        pass_fds=[number],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _asked(request: dict, files: Sequence[int] = ()) -> int | None:
    template = _template()
    socket.send_fds(template, [json.dumps(request).encode()], files)
    return json.loads(template.recv(LONGEST_REQUEST))


def become(number: int) -> None:
    """Fork as often as asked; each fork leaves the loop and runs a script as `__main__`."""
    for name in IMPORTED:
        import_module(name)
    import_module("stable_nalu.training.shell").MOST_FORMULAS = 0
    with socket.socket(fileno=number) as channel:
        request = _next_fork(channel)
    if request is None:
        return
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = [request["path"], *request["words"]]
    _fork_workers()
    code = 1
    try:
        exec(request["before"], {})
        runpy.run_path(request["path"], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    _leave(code)


def _leave(code: int) -> None:
    """End as an interpreter does, but for taking apart all that it holds, which takes longest."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _next_fork(channel: socket.socket) -> dict | None:
    """Return a request in the fork made for it, and None once nobody asks any more."""
    while True:
        message, files, _, _ = socket.recv_fds(channel, LONGEST_REQUEST, 2)
        if not message:
            return None
        request = json.loads(message)
        if "poll" in request:
            pid, status = os.waitpid(request["poll"], os.WNOHANG)
            reply = os.waitstatus_to_exitcode(status) if pid else None
        else:
            for name in request["imports"]:
                import_module(name)
            gc.freeze()  # Else each fork copies, at its first collection, the page of every object.
            reply = os.fork()
            if not reply:
                os.setsid()
                for file, standard in zip(files, (1, 2), strict=True):
                    os.dup2(file, standard)
            for file in files:
                os.close(file)
            if not reply:
                return request
        channel.send(json.dumps(reply).encode())


def _fork_workers() -> None:
    """Let workers be forks, too: they need not import torch either."""
    context_of = multiprocessing.get_context

    def context(method: str | None = None):
        return context_of("fork" if method == "spawn" else method)

    multiprocessing.get_context = context


def fork_shards() -> None:
    """Let processes that a script starts for its shards be forks, too."""
    from stable_nalu.result import shard

    shard._start = _Shard


class _Shard(multiprocessing.get_context("fork").Process):
    """What `shard` needs of a process: a module with its words, output in files of the logs."""

    def __init__(self, words, task, logs, _):
        super().__init__(target=self.work, args=(words, logs / f"task-{task}"))
        self.start()

    def work(self, words, path):
        for stream, ending in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{path}.{ending}", os.O_CREAT | os.O_WRONLY), stream)
        sys.argv = list(words)
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)

    def poll(self):
        return self.exitcode

    @property
    def returncode(self):
        return self.exitcode
