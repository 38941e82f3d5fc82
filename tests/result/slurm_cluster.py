"""A SLURM cluster of one node on this machine, for as long as a test needs it."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
LOOKS = 300
"""How often the daemons are asked before there is no cluster: longer where all is slower."""
MUNGE_FOLDER = Path("/run/munge")

# No limit of time but the generous: a daemon that is slow to answer would restart a job, and the
# record of one that ended five minutes ago would be gone.
CONFIGURATION = Path(__file__).with_name("slurm.conf").read_text("utf-8")


class NoClusterError(Exception):
    """Why there can be no cluster here."""


@dataclass(frozen=True)
class Cluster:
    """Speaks to the daemons through the file that they were started with."""

    environment: dict[str, str]

    def ask(self, *command: str) -> str:
        """What a program of SLURM prints."""
        done = subprocess.run(
            command, env={**os.environ, **self.environment}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """A program of SLURM that is not waited for."""
        return subprocess.Popen(command, env={**os.environ, **self.environment})

    def states(self, job: str) -> dict[int, str]:
        """State of every element of an array job that is not over."""
        lines = self.ask("squeue", "--noheader", "--array", "--format=%K %T", "--jobs", job)
        return {int(index): state for index, state in map(str.split, lines.splitlines())}


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """Install what is missing, start the daemons, stop them at the end."""
    _install()
    host = socket.gethostname().split(".", 1)[0]
    for name in ("state", "spool"):
        (folder / name).mkdir()
    first, second = _free_ports(2)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    text = CONFIGURATION.format(
        host=host,
        folder=folder,
        first_port=first,
        second_port=second,
        cores=os.cpu_count(),
        megabytes=memory // 2**20 - 512,
    )
    path = folder / "slurm.conf"
    path.write_text(text)
    cluster = Cluster({"SLURM_CONF": str(path)})
    try:
        with _munge():
            _daemon(cluster, ["slurmctld", "-f", str(path)])
            _daemon(cluster, ["slurmd", "-f", str(path)])
            _until_idle(cluster)
            yield cluster
    finally:
        for name in ("slurmd", "slurmctld"):
            _stop(folder / f"{name}.pid")


def _install() -> None:
    if os.geteuid() != 0:
        raise NoClusterError("only root can start the daemons of SLURM")
    if all(shutil.which(name) for name in ("slurmctld", "slurmd", "sbatch", "munged")):
        return
    if shutil.which("apt-get") is None:
        raise NoClusterError("SLURM is not installed, and this is not Debian")
    for words in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run(
            ["apt-get", "--quiet", *words],
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            last = (done.stderr.strip() or done.stdout.strip() or "?").splitlines()[-1]
            raise NoClusterError(f"SLURM cannot be installed: {last}")


@contextmanager
def _munge() -> Iterator[None]:
    """The authentication service; one that runs already is left alone."""
    if _munge_answers():
        yield
        return
    user = pwd.getpwnam("munge")
    MUNGE_FOLDER.mkdir(mode=0o755, exist_ok=True)
    os.chown(MUNGE_FOLDER, user.pw_uid, user.pw_gid)
    process = subprocess.Popen(
        ["munged", "--foreground"],
        user=user.pw_uid,
        group=user.pw_gid,
        extra_groups=[],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until(_munge_answers, "munged does not answer")
        yield
    finally:
        process.terminate()
        process.wait()


def _munge_answers() -> bool:
    done = subprocess.run("munge -n | unmunge", shell=True, capture_output=True)
    return done.returncode == 0


def _daemon(cluster: Cluster, command: list[str]) -> None:
    done = subprocess.run(
        command, env={**os.environ, **cluster.environment}, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise NoClusterError(f"{command[0]} does not start: {done.stderr.strip()}")


def _until_idle(cluster: Cluster) -> None:
    def idle() -> bool:
        done = subprocess.run(
            ["sinfo", "--noheader", "--format=%T"],
            env={**os.environ, **cluster.environment},
            capture_output=True,
            text=True,
        )
        return done.stdout.strip() == "idle"

    _wait_until(idle, "the node does not become idle")


def _wait_until(holds, otherwise: str) -> None:
    for _ in range(LOOKS):
        if holds():
            return
        time.sleep(0.2)
    raise NoClusterError(otherwise)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _stop(pid_file: Path) -> None:
    with suppress(FileNotFoundError, ValueError, ProcessLookupError):
        number = int(pid_file.read_text())
        os.kill(number, signal.SIGTERM)
        for _ in range(LOOKS):
            os.kill(number, 0)
            time.sleep(0.2)
