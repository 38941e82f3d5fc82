"""What commands show to a person: one bar while work lasts, colours, plurals, short paths.

A bar is seen in terminals and notebooks only, colours in terminals without `NO_COLOR`.
"""

import contextlib
import os
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

BOLD, GREEN, RED = "1", "32", "31"
PROGRESS = "STABLE_NALU_PROGRESS"
"""The environment variable that names a file for how far a process is, to who started it."""


class Progress(NamedTuple):
    """How far a process is: units that are trained, units that are left, runs that are solved."""

    done: float = 0
    left: float = 0
    solved: int = 0

    @classmethod
    def read(cls, path: Path) -> "Progress | None":
        """Return what a process has written last; None while it has not, or is about to."""
        try:
            done, left, solved = path.read_text(encoding="utf-8").split()
            return cls(float(done), float(left), int(solved))
        except (OSError, ValueError):
            return None

    def write(self, path: Path) -> None:
        """Tell who started this process, if that can be done."""
        with contextlib.suppress(OSError):
            path.write_text(" ".join(map(str, self)), encoding="utf-8")


def bar(
    work: Iterable[Any] | None = None,
    *,
    total: int | None = None,
    unit: str,
    what: str = "",
    hidden: bool = False,
) -> Any:
    """Return tqdm's bar on standard error, of items or to be moved by `update`.

    One of items is seen when they take more than a second, unless it is `hidden`. The estimate of
    what is left is the mean pace so far: of work in bursts, the last one says less.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    in_notebook = hasattr(shell, "kernel")
    if in_notebook:
        with warnings.catch_warnings(action="ignore"):  # of a notebook without widgets
            from tqdm.auto import tqdm
    else:
        from tqdm import tqdm

    left = "[{elapsed}<{remaining}{postfix}]"
    return tqdm(
        work,
        what or None,
        total,
        unit_scale=True,
        smoothing=0,
        mininterval=0.2,
        delay=0 if work is None else 1,
        leave=False,
        dynamic_ncols=True,
        disable=hidden or not (in_notebook or sys.stderr.isatty()),
        bar_format="{l_bar}{bar}| {n_fmt}/{total_fmt} " + f"{unit} {left}",
    )


def is_terminal() -> bool:
    """Return whether a person reads standard output."""
    return sys.stdout.isatty()


def paint(text: str, *codes: str) -> str:
    """Return a text in colours where these are seen and wanted."""
    if not any(codes) or not is_terminal() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m"


def fact(name: str, text: str) -> str:
    """Return a line of a name and what is said under it."""
    return f"{paint(f'{name:<7}', BOLD)} {text}"


def joined(facts: Sequence[str]) -> str:
    """Return facts in a few lines below what `fact` says, and how many there was no room for."""
    indent, fixed = " " * 8, [fact.replace(" ", "\xa0") for fact in facts]
    columns = shutil.get_terminal_size((80, 24)).columns - len(" and 99 more")
    wrapped = textwrap.wrap(
        "; ".join(fixed), columns - len(indent), break_long_words=False, break_on_hyphens=False
    )
    kept = wrapped[:3]
    rest = sum(line.count("; ") for line in wrapped[3:]) + bool(wrapped[3:])
    rest += sum(line.endswith(";") for line in wrapped[3:-1])
    more = f" and {rest} more" if rest else ""
    return f"\n{indent}".join(kept).replace("\xa0", " ") + more


def plural(count: int, noun: str) -> str:
    """Return `1 run`, `2 runs`, `2 processes`."""
    ending = "" if count == 1 else "es" if noun.endswith(("s", "x")) else "s"
    return f"{count:,} {noun}{ending}"


def shown(path: Path) -> str:
    """Return a path from here where it is below this folder, else as it is."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def plain(label: str) -> str:
    """Return a label without LaTeX, for terminals and documents."""
    text = label.replace(r"\bullet", "•").replace(r"\sigma", "σ").replace(r"\odot", "⊙")
    text = text.replace(r"\mathcal{R}_{sparse}", "R_sparse")
    text = re.sub(r"\\(?:mathrm|mathbf|hat|bm)\b", "", text)
    return re.sub(r"[${}\\]", "", text)
