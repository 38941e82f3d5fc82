"""The exporters as command lines: which runs each reads, its flags, and long forms of tables."""

import argparse
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from stable_nalu.base.errors import OptionError
from stable_nalu.base.files import EVENT_FILE, STREAMS, atomic_text_file, visible_entries
from stable_nalu.base.script import ScriptParser, exit_code, granted_cores, say
from stable_nalu.base.tags import CURVE_COLUMNS

from .export import SCORES, RunTable, export_csv
from .run_parser import (
    PAIRS,
    SEQUENCES,
    STEP,
    MetricParser,
    RunParser,
    WeightsParser,
    is_scored,
    is_scored_or_gate,
)


@dataclass(frozen=True)
class _Long:
    """A long form of tables: a row per run, step and point of the columns that a pattern finds.

    pattern: its groups are the point and what is measured there. nothing: the error of no column.
    names: columns of a table -> of the file. order: columns by which rows are sorted.
    """

    pattern: str
    nothing: str
    names: Mapping[str, str]
    columns: Sequence[str]
    order: Sequence[str]

    def points(self, table: RunTable) -> Iterator[dict[str, Any]]:
        """Yield the rows of a run, of the steps with a value."""
        matches = {name: re.fullmatch(self.pattern, name) for name in table.columns}
        of_points: dict[str, dict[str, list]] = {}
        for name, match in matches.items():
            if match:
                of_points.setdefault(match["point"], {})[match["measure"]] = table.columns[name]
        options = {"name": table.name, **table.options}
        for place, step in enumerate(table.columns[STEP]):
            points = {p: {of: c[place] for of, c in cs.items()} for p, cs in of_points.items()}
            if any(cell == cell for cells in points.values() for cell in cells.values()):
                for point, cells in points.items():
                    yield {**options, STEP: step, "point": float(point), **cells}

    def write(self, rows: list[dict[str, Any]], flag: str, csv_out: str) -> None:
        """Write the rows of all runs."""
        if not rows:
            raise OptionError(flag, self.nothing, "leave it out")
        long = pd.DataFrame(rows).rename(columns=self.names)
        if "stimulus" in long:
            long["stimulus"] = long["stimulus"].astype(int)
            long.loc[long["layer.type"] == "LSTM", "wiring"] = "none"
        with atomic_text_file(Path(csv_out), named=True) as file:
            table = long.sort_values(list(self.order))
            table.to_csv(file, index=False, columns=list(self.columns))


CURVES = _Long(
    rf"(?P<measure>{re.escape(CURVE_COLUMNS[:-1])})\.(?P<point>[-+.\de]+)",
    "no run has a curve, which is logged at the end of training",
    {"layer.type": "activation", "point": "x"},
    ("name", "activation", "seed", "x", "abs.error"),
    ("name", "x"),
)
STIMULI = _Long(
    r"metric\.test\.stimulus\.(?P<point>\d+)\.(?P<measure>\w+)",
    "no run has arrivals at given steps, which a grid world logs",
    {"nac.wiring": "wiring", "point": "stimulus"},
    ("name", "step", "layer.type", "wiring", "seed", "stimulus")
    + ("reward", "arrival", "exact", "arrived"),
    ("name", "step", "stimulus"),
)
_OF_ARITHMETIC = {
    "--export-gate": "add the mean gate of every NALU layer",
    "--verbose": "add the first two weights and gates, which runs log under --verbose",
    "--weights-only": "write every logged weight, and no metrics, of single-layer networks",
}
_OF_PAIRS = {
    "--from-parent-folder": "--tensorboard-dir holds folders of runs; each becomes a file in the "
    "folder --csv-out"
}


def _folders_of_runs(args: argparse.Namespace) -> list[Path]:
    """Return the folders below --tensorboard-dir that hold runs, or that folder itself.

    It is the folder of a whole batch script when no run lies in it and some lie deeper.
    """
    parent = Path(args.tensorboard_dir)
    if getattr(args, "from_parent_folder", False):
        if not parent.is_dir():
            raise OptionError("--tensorboard-dir", f"there is no folder {parent}", "name another")
        shown = [entry for entry in visible_entries(parent) if entry.is_dir()]
        if not shown:
            problem = f"there are no folders of runs in {parent}"
            raise OptionError("--tensorboard-dir", problem, "leave out --from-parent-folder")
        return shown
    found: list[Path] = []
    for place, names, _ in os.walk(parent):
        folder = Path(place)
        names[:] = sorted(name for name in names if not name.startswith("."))
        if any(_is_run(folder / name) for name in names):
            if folder == parent:
                break
            found.append(folder)
            names.clear()
    return found or [parent]


def _is_run(folder: Path) -> bool:
    try:
        return any(EVENT_FILE in entry.name for entry in visible_entries(folder))
    except OSError:
        return False


def _file_of(folder: Path, args: argparse.Namespace, flag: str, path: str) -> str:
    """Return the file that a folder of runs becomes: the one that is named, or one below it."""
    parent = Path(args.tensorboard_dir)
    if folder == parent:
        return path
    if path in STREAMS:
        raise OptionError(flag, f"{parent} becomes several files", "name a folder for them")
    return str(Path(path.removesuffix(".csv")) / f"{folder.relative_to(parent)}.csv")


def _exporter(
    script: str,
    description: str,
    parser_of: Callable[[argparse.Namespace], RunParser] | None = None,
    switches: Mapping[str, str] | None = None,
    scored: bool = False,
    files: Mapping[str, tuple[_Long, str]] | None = None,
) -> Callable[..., int]:
    """Return the body of an exporter, which reads a command line and returns the exit code.

    parser_of: makes the rows; None: what suits each run, and its configuration always.
    switches: flags of the exporter's own, and their help.
    scored: whether runs may have logged untrained networks, which scores compare errors with.
    files: flags that name another file, what is written there, and their help.
    """

    def main(argv: Sequence[str] | None = None) -> int:
        parser = _parser(script, description, parser_of is None, scored)
        for flag, text in (switches or {}).items():
            parser.add_argument(flag, action="store_true", help=text)
        for flag, (_, text) in (files or {}).items():
            parser.add_argument(flag, metavar="PATH", help=text)
        args = parser.parse_args(argv)

        def export() -> int:
            if not args.tensorboard_dir:
                raise OptionError(
                    "--tensorboard-dir", "missing", "name the parent folder of the runs"
                )
            if not args.csv_out:
                raise OptionError("--csv-out", "missing", "name the file to write")
            options = {"processes": granted_cores(), "with_config": args.with_config}
            options |= {"score": args.score} if scored else {}
            paths = {f: getattr(args, f[2:].replace("-", "_")) for f in files or {}}
            forms = {flag: form for flag, (form, _) in (files or {}).items() if paths[flag]}
            whole = True
            for folder in _folders_of_runs(args):
                file = _file_of(folder, args, "--csv-out", args.csv_out)
                rows: dict[str, list[dict[str, Any]]] = {flag: [] for flag in forms}

                def keep(table: RunTable, rows: dict[str, list[dict[str, Any]]] = rows) -> None:
                    for flag, form in forms.items():
                        rows[flag] += form.points(table)

                rows_of = parser_of(args) if parser_of else None
                reader = export_csv(str(folder), file, rows_of, keep, **options)
                reader.tell()
                if file != args.csv_out:
                    say(f"table {file}")
                whole = whole and not reader.problems
                for flag, form in forms.items():
                    form.write(rows[flag], flag, _file_of(folder, args, flag, paths[flag]))
            return 1 if args.strict and not whole else 0

        return exit_code(script, export)

    return main


def _parser(script: str, description: str, with_config: bool, scored: bool) -> ScriptParser:
    """Return the command line of an exporter, less what it has of its own; see `_exporter`.

    with_config: whether configurations are written always, and not when they are asked for.
    """
    parser = ScriptParser(prog=script, description=description)
    parser.add_argument(
        "--tensorboard-dir",
        metavar="PATH",
        help="parent folder of the runs, or a folder of such folders, as of a whole batch script",
    )
    parser.add_argument(
        "--csv-out",
        metavar="PATH",
        help="file to write; for a folder of folders, the folder of their files",
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit code 1 when a run is skipped or incomplete"
    )
    parser.set_defaults(with_config=with_config)
    if not with_config:
        parser.add_argument(
            "--with-config", action="store_true", help="add the configuration of every run"
        )
    if scored:
        parser.add_argument(
            "--score",
            choices=SCORES,
            default=SCORES[0],
            help="errors that the columns score.* compare with those of untrained networks",
        )
    return parser


def _of_arithmetic(args: argparse.Namespace) -> RunParser:
    if args.weights_only:
        return WeightsParser()
    matcher = is_scored_or_gate if args.export_gate else is_scored
    return MetricParser(matcher, recursive_weight=args.verbose)


any_runs = _exporter(
    "runs.py",
    "Export runs of any script to a CSV file: a row per run and logged step, with configurations.",
    scored=True,
    files={
        "--curve-out": (CURVES, "also write logged error curves: a row per point"),
        "--stimuli-out": (
            STIMULI,
            "also write what grid worlds measured: a row per logged test and step asked for",
        ),
    },
)
arithmetic = _exporter(
    "simple_function_static.py",
    "Export the runs of the arithmetic tasks to a CSV file: one row per run and logged step.",
    _of_arithmetic,
    _OF_ARITHMETIC,
    scored=True,
)
sequences = _exporter(
    "sequential_mnist.py",
    "Export runs on digit sequences, MNIST or SVHN, to a CSV file: a row per run and logged epoch.",
    lambda _: SEQUENCES,
)
pairs = _exporter(
    "two_digit_mnist_reader.py",
    "Export runs on pairs of digits to CSV files: one row per run and evaluation.",
    lambda _: PAIRS,
    _OF_PAIRS,
)
