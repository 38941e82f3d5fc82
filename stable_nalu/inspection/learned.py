"""What trained runs have learned, as formulas, in a program and by a command."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from stable_nalu.console import bar, told
from stable_nalu.errors import OptionError, named_as_in_python
from stable_nalu.script import ScriptParser, exit_code, say
from stable_nalu.statistics.table import write_plain_frame
from stable_nalu.writer import RunRecord

from .formula import VERDICTS, Certificate
from .saved_model import TrainedModel, load

if TYPE_CHECKING:
    from stable_nalu.runs import TrainedRun


@named_as_in_python()
def formula(run: TrainedRun | TrainedModel | str | Path) -> Certificate:
    """Return what a trained network computes, and whether it is what its task asks for.

    Args:
        run: a run of an arithmetic script, the folder of its log, or what `load` returns.

    Examples:
        >>> print(sn.formula(runs.best))
        learned: x1*x2, exact as trained
    """
    return (run if isinstance(run, TrainedModel) else load(run)).formula()


SECONDS = 1.0


def in_short(folders: Sequence[Path]) -> str | None:
    """Return in one line what runs have learned; None where that takes more than `SECONDS`.

    Those are of the processor, by the pace of the formulas before.
    """
    found = [formula(folders[0])]
    if len(folders) == 1:
        text = str(found[0]).removeprefix("learned: ")
        return told("learned" if text != str(found[0]) else "formula", text)
    began = time.process_time()
    for folder in folders[1:]:
        found.append(formula(folder))
        if (time.process_time() - began) / (len(found) - 1) * (len(folders) - 1) > SECONDS:
            return None
    return told("formula", counted([one.verdict for one in found]))


def counted(verdicts: Sequence[str]) -> str:
    """Return how many runs have each verdict: `22 of 25 exact after rounding, 3 wrong`."""
    counts = Counter(verdicts)
    first, *others = (v for v in VERDICTS if counts[v])
    rest = [f"{counts[verdict]} {verdict}" for verdict in others]
    return ", ".join([f"{counts[first]} of {len(verdicts)} {first}", *rest])


def _folders(paths: Sequence[str]) -> list[Path]:
    """Return the folders of runs that paths name or hold."""
    found: list[Path] = []
    for path in map(Path, paths):
        own = [path] if RunRecord.read(path) else []
        own = own or sorted(p for p in path.rglob("*") if p.is_dir() and RunRecord.read(p))
        if not own:
            raise OptionError("--run", f"{path} holds no run", "name a folder of logs")
        found += own
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Say what runs have learned; the result is the exit code."""
    parser = ScriptParser(
        prog="formula.py",
        description="Say what trained networks compute, as a formula, and whether it is the one "
        f"that was asked for: {'; '.join(VERDICTS)}.",
    )
    parser.add_argument(
        "--run", metavar="PATH", nargs="+", required=True, help="folder of a run's log, or of many"
    )
    parser.add_argument("--csv-out", metavar="FILE", help="write a row per run, too")
    arguments: argparse.Namespace = parser.parse_args(argv)

    def tell() -> None:
        folders = _folders(arguments.run)
        every = [formula(folder) for folder in bar(folders, unit="runs", what="formulas")]
        for folder, found in zip(folders, every, strict=True):
            say(f"{folder.name}: {found}" if len(folders) > 1 else str(found))
        if len(folders) > 1:
            say(counted([found.verdict for found in every]))
        if arguments.csv_out:
            told_of = zip(folders, every, strict=True)
            rows = [{"name": folder.name, **found.row} for folder, found in told_of]
            write_plain_frame(Path(arguments.csv_out), pd.DataFrame(rows))

    return exit_code("formula.py", tell)
