"""Files that are made from the code, whole or between markers: `python3 -m tools.generated`.

`--check` changes nothing and fails when a file is stale.
"""

import json
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from stable_nalu.base.files import CHECKOUT, atomic_text_file, cells_of
from stable_nalu.base.script import ScriptParser
from stable_nalu.options import Flag
from stable_nalu.result import batch
from stable_nalu.result.batch import JOB_SCRIPTS, JobScript, Site, headers
from stable_nalu.result.shard import shards
from stable_nalu.task.table import SCRIPTS

from . import FOLDER, TEMPLATES, board, datapackage, doc_tables, playground


def batch_script(script: JobScript, _: str) -> str:
    """Return the file of a batch script, for any site, with all models and the published seeds."""
    count = len(shards(script.named_models(), None))
    return TEMPLATES.get_template("batch.sh").render(
        script=script,
        file=f"lfs_batch_jobs/{script.name}.sh",
        places=lambda e: ", ".join(f"{n} of {e.paper.reference}" for n in e.numbers),
        headers=headers(script.name, script.resources(), Site(), range(count), None),
        depth="/".join([".."] * (script.name.count("/") + 1)),
        name=shlex.quote(script.name),
    )


_TYPES = {row["metavar"]: row["type"] for row in cells_of(FOLDER / "types.csv")}
"""The metavar of a flag -> its type; others are Text."""
_REFUSED = ("dry_run", "evaluate", "optimizer", "schedule")
_MOST_CHOICES = 12


def flag_types(_: str) -> str:
    """Return the module with the flags that `stable_nalu.train` takes, as types."""
    flags = [f for spec in SCRIPTS.values() for f in spec.flags if f.dest not in _REFUSED]
    names = dict.fromkeys(flag.dest for flag in flags)
    same = {name: [flag for flag in flags if flag.dest == name] for name in names}
    fields = ", ".join(f'"{dest}": {_type(own)}' for dest, own in same.items())
    lines = [f"Script = {_literal(SCRIPTS)}"]
    lines.append(f'Flags = TypedDict("Flags", {{{fields}}}, total=False)')
    wrap = textwrap.TextWrapper(100, subsequent_indent="    ", break_on_hyphens=False)
    head = (FOLDER / "flags.txt").read_text(encoding="utf-8")
    return head + "".join(f"{wrap.fill(line)}\n" for line in lines)


def _type(flags: list[Flag]) -> str:
    choices = [f.choices if isinstance(f.choices, tuple) else () for f in flags if f.kind]
    if choices and all(0 < len(known) <= _MOST_CHOICES for known in choices):
        return f"Several[{_literal(dict.fromkeys(c for known in choices for c in known))}]"
    kinds = (_TYPES.get(f.kind.metavar, "Text") if f.kind else "Switch" for f in flags)
    return " | ".join(dict.fromkeys(kinds))


def _literal(values: Iterable[object]) -> str:
    return f"Literal[{', '.join(map(json.dumps, values))}]"


BATCH_FILES = {
    batch.FOLDER / f"{name}.sh": partial(batch_script, one) for name, one in JOB_SCRIPTS.items()
}
GENERATED: dict[Path, Callable[[str], str]] = {
    **{path: partial(doc_tables.refreshed, path) for path in doc_tables.PARTS},
    CHECKOUT / "stable_nalu" / "api" / "flags.py": flag_types,
    datapackage.PATH: datapackage.refreshed,
    playground.PATH: playground.refreshed,
    board.PATH: board.refreshed,
    **BATCH_FILES,
}
"""Path -> function from the file's present text to what it should be."""


def main(argv: Sequence[str] | None = None) -> int:
    """Rewrite stale files, or with --check name them, and return the exit code."""
    parser = ScriptParser(prog="tools.generated", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, fail when stale")
    check, stale = parser.parse_args(argv).check, False
    for path, made in GENERATED.items():
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if (fresh := made(text)) == text:
            continue
        stale = True
        sys.stdout.write(f"{'stale' if check else 'rewritten'}: {path}\n")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_text_file(path) as file:
                file.write(fresh)
            if path.suffix == ".sh":
                path.chmod(0o755)
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
