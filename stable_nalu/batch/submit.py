"""Hand a job file to SLURM or LSF."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from stable_nalu.errors import UsageError


def submit(scheduler: str, text: str, path: Path) -> str:
    """Keep the job file at `path` and submit it; the result is what the batch system says."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the job file {path}: {error.strerror}") from None
    if scheduler == "slurm":
        return _call(["sbatch", str(path)], "")
    # LSF reads the header lines of a job only from its standard input.
    return _call(["bsub"], text)


def _call(command: Sequence[str], text: str) -> str:
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UsageError(
            f"argument --scheduler: there is no {command[0]} here; "
            "use --scheduler local, or print to see what would be submitted"
        ) from None
    if done.returncode != 0:
        raise UsageError(f"{command[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.strip()
