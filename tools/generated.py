"""Files that are made from the code, whole or between markers: `python3 -m tools.generated`.

`--check` changes nothing and fails when a file is stale.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from stable_nalu.base.files import atomic_text_file
from stable_nalu.base.script import ScriptParser

from . import board, datapackage, doc_tables, flag_types, playground
from .batch_files import batch_files

GENERATED: dict[Path, Callable[[str], str]] = {
    **{path: partial(doc_tables.refreshed, path) for path in doc_tables.PARTS},
    flag_types.PATH: flag_types.refreshed,
    datapackage.PATH: datapackage.refreshed,
    playground.PATH: playground.refreshed,
    board.PATH: board.refreshed,
    **batch_files(),
}
"""Path -> function from the file's present text to what it should be."""


def stale() -> dict[Path, str]:
    """Return the files that are not what the code makes now, with the text they should have."""
    texts = {path: path.read_text(encoding="utf-8") if path.exists() else "" for path in GENERATED}
    fresh = {path: GENERATED[path](text) for path, text in texts.items()}
    return {path: text for path, text in fresh.items() if text != texts[path]}


def main(argv: Sequence[str] | None = None) -> int:
    """Rewrite stale files, or with --check name them, and return the exit code."""
    parser = ScriptParser(prog="tools.generated", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, fail when stale")
    check = parser.parse_args(argv).check
    found = stale()
    for path, text in found.items():
        sys.stdout.write(f"{'stale' if check else 'rewritten'}: {path}\n")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_text_file(path) as file:
                file.write(text)
            if path.suffix == ".sh":
                path.chmod(0o755)
    return 1 if check and found else 0


if __name__ == "__main__":
    raise SystemExit(main())
