"""Mutate the package, one place at a time, and see whether the nearest tests fail.

    python -m tests.mutate                  # all, one after another, in a copy of the tree
    python -m tests.mutate wilson holm      # mutations whose names contain a word

A mutation whose text is not in its file is an error, as then nothing would be tested. The exit code
is 1 if a mutation was not caught.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".pytest_cache", ".ruff_cache")
MOST_SECONDS = 900


@dataclass(frozen=True)
class Mutation:
    """A text of a file below `stable_nalu`, what replaces it, and the tests that should fail."""

    name: str
    file: str
    old: str
    new: str
    tests: str

    def apply(self, root: Path) -> None:
        """Replace the text, which must stand in the file exactly once."""
        path = root / "stable_nalu" / self.file
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if (count := text.count(self.old)) != 1:
            raise SystemExit(f"{self.name}: {self.file} has {count} times the text {self.old!r}")
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


MUTATIONS = [
    Mutation(**row)
    for row in tomllib.loads(ROOT.joinpath("tests", "mutations.toml").read_text("utf-8"))[
        "mutations"
    ]
]


def tested(root: Path, tests: str) -> tuple[int, str]:
    """Run tests in a copy of the tree; return the exit code of pytest and its last line."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, *tests.split()],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    return done.returncode, (done.stdout.strip().splitlines() or [done.stderr[-200:]])[-1]


def say(text: str) -> None:
    """Write a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(words: list[str]) -> int:
    """Try mutations whose names have one of the words, all without one; return the exit code."""
    chosen = [m for m in MUTATIONS if not words or any(word in m.name for word in words)]
    escaped = 0
    with TemporaryDirectory() as folder:
        copy = Path(folder, "tree")
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        for mutation in chosen:
            file = copy / "stable_nalu" / mutation.file
            kept = file.read_bytes() if file.exists() else b""
            mutation.apply(copy)
            code, last = tested(copy, mutation.tests)
            file.write_bytes(kept)
            # pytest ends with 1 if a test failed; anything else is an error of this table.
            if code not in (0, 1):
                raise SystemExit(f"{mutation.name}: pytest ended with {code}: {last}")
            escaped += code == 0
            say(f"{'caught' if code else 'NOT CAUGHT':<10}  {mutation.name}: {last}")
    say(f"{len(chosen) - escaped} of {len(chosen)} mutations are caught")
    return int(escaped > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
