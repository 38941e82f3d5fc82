"""Batch systems that record what they are given."""

import json
import os
import stat
import sys

import pytest

RECORDER = """#!{python}
import json, sys
text = "" if sys.stdin.isatty() else sys.stdin.read()
json.dump([sys.argv[1:], text], open({out!r}, "w"))
print("Job <7> is submitted")
"""


@pytest.fixture
def record(tmp_path, monkeypatch):
    """Put recording `sbatch` and `bsub` on the PATH; the result reads what one was given."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sbatch", "bsub"):
        program = folder / name
        out = str(tmp_path / f"{name}.json")
        program.write_text(RECORDER.format(python=sys.executable, out=out))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("STABLE_NALU_SITE", str(tmp_path / "site.toml"))
    site = 'queue = "compute"\npartition = "batch"\naccount = "nalu"\noptions = ["-U x"]\n'
    (tmp_path / "site.toml").write_text(site)
    return lambda name: json.loads((tmp_path / f"{name}.json").read_text())
