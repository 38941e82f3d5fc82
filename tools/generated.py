"""Files that are made from the code, whole or between markers: `python3 -m tools.generated`.

`--check` changes nothing and fails when a file is stale.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import stable_nalu
from stable_nalu.base.files import atomic_text_file, with_part
from stable_nalu.base.machine import CHECKOUT
from stable_nalu.base.script import ScriptParser
from stable_nalu.result.document import table
from stable_nalu.task.table import SCRIPTS

from . import board, datapackage, experiment_tables, flag_types, headline, layer_table, playground
from .batch_files import batch_files

API = CHECKOUT / "docs" / "api.md"
_API_MARKS = (
    "<!-- Generated from stable_nalu/__init__.py; rewrite with `make generated`. -->",
    "<!-- End of the generated names. -->",
)
FLAGS = CHECKOUT / "docs" / "flags.md"
_SCRIPT_MARKS = (
    "<!-- Generated from stable_nalu/task; rewrite with `make generated`. -->",
    "<!-- End of the generated scripts. -->",
)


def refreshed_scripts(document: str) -> str:
    """Return docs/flags.md with a row for every training script."""
    rows = [{"script": f"`{s.name}`", "what it does": s.summary} for s in SCRIPTS.values()]
    return with_part(document, *_SCRIPT_MARKS, f"{table(rows)}\n\n")


def refreshed_api(document: str) -> str:
    """Return docs/api.md with a row for every public name: its arguments, and its first line."""
    rows: list[dict[str, str]] = []
    for name in stable_nalu.__all__:
        found = getattr(stable_nalu, name)
        found = found.__call__ if isinstance(found, ModuleType) else found
        first, *_ = (inspect.getdoc(found) or "").splitlines()
        rows.append({"name": f"`{name}({', '.join(_arguments(found))})`", "what it does": first})
    return with_part(document, *_API_MARKS, f"{table(rows)}\n\n")


def _arguments(found: Any) -> Iterator[str]:
    """Yield the names of arguments, with `*` before those that are passed by name."""
    star = False
    for parameter in inspect.signature(found).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            star = True
            yield "*"
        yield ("**" if parameter.kind is parameter.VAR_KEYWORD else "") + parameter.name


GENERATED: dict[Path, Callable[[str], str]] = {
    FLAGS: refreshed_scripts,
    layer_table.LAYERS: layer_table.refreshed,
    flag_types.PATH: flag_types.refreshed,
    API: refreshed_api,
    headline.README: headline.refreshed,
    experiment_tables.EVERY: experiment_tables.refreshed_every,
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
