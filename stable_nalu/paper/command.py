"""The command that draws figures, `plot`, and two tables of the robustness study."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stable_nalu.base.errors import OptionError, UsageError, flagged
from stable_nalu.base.files import CSV_FOLDER, refuse_inputs
from stable_nalu.base.script import ScriptParser, adder, exit_code
from stable_nalu.figure.entries import entry_of_files, render, write_numbered
from stable_nalu.figure.runs import Context, Drawing, with_names
from stable_nalu.figure.style import FORMATS, PALETTES
from stable_nalu.options.flag import file_name
from stable_nalu.statistics.setups import (
    Estimators,
    add_estimate_flags,
    add_threshold_flags,
    expand_name,
    model_label,
)
from stable_nalu.statistics.table import numeric, write_plain_frame

from .index import find_figure, listing

_PLOT = (
    "Draw figures and write tables of the papers from exported CSV files, or figures of your own."
)
_EXAMPLES = """examples:
  plot.py --list
  plot.py nips-sltr-in2 --csv-dir results/csv --out-dir results/plots --format pdf png
  plot.py --csv results/mine.csv --kind range --label "My layer"
"""


def plot_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ScriptParser(prog="plot.py", description=_PLOT, epilog=_EXAMPLES)
    add = adder(parser)
    add("keys KEY", "figures or tables to make", nargs="*")
    add("--list", "name every figure and table")
    add("--csv-dir PATH", "exported files, as reproduce.py writes them", usual=CSV_FOLDER)
    add("--out-dir PATH", "default: %(default)s", default="results/plots")
    add("--format", "default: pdf", nargs="+", choices=FORMATS, default=["pdf"])
    add = adder(parser.add_argument_group("your own results"))
    add("--csv PATH ...", "exported files")
    add(
        "--kind",
        "range, success (rates only), distribution, sweep, table, histogram, curve, metrics, "
        "surface, path or matrix",
        usual="range",
    )
    add("--label TEXT ...", "name of each file", default=[])
    add(
        "--column NAME", "x of a sweep; weights of a path, such as label2out; what other kinds show"
    )
    add("--name", "file name without ending", type=file_name.one, usual="figure")
    add_threshold_flags(adder(parser.add_argument_group("when a run is solved")))
    add = adder(parser.add_argument_group("means, intervals, colours"))
    add_estimate_flags(add)
    add(
        "--palette",
        "colours that read in print and for colour-blind readers, or the published hues",
        choices=PALETTES,
        default="safe",
    )
    return parser.parse_args(argv)


def _plot(args: argparse.Namespace) -> None:
    if args.list:
        sys.stdout.write(listing())
        return
    entries = [find_figure(key) for key in args.keys]
    if args.csv:
        paths = [Path(path) for path in args.csv]
        with flagged("--csv"):
            entries.append(entry_of_files(args.kind, paths, args.label, args.name, args.column))
    if not entries:
        raise OptionError("KEY", "no figure is named", "name one, give --csv, or see --list")
    for entry in entries:
        how: Any = {"threshold": args.threshold, "palette": args.palette}
        how["setups"] = [Path(path) for path in args.exp_setups]
        how["estimators"] = Estimators(args.gamma_fit, args.sparsity_fit)
        context = Context(entry, Path(args.csv_dir), **how)
        with flagged("--csv") if args.csv else nullcontext():
            written = render(context, Path(args.out_dir), args.format)
        for text in context.warnings:
            sys.stderr.write(f"warning: {entry.key}: {text}\n")
        for text in (*context.notes, *map(str, written)):
            sys.stdout.write(f"{text}\n")


def plot_command(argv: Sequence[str] | None = None) -> int:
    args = plot_arguments(argv)
    return exit_code("plot.py", lambda: _plot(args))


SEEDS, INPUTS = 25, 10
"""Of the robustness study: two of the inputs are relevant; which two follows from the seed."""
LAST_STEP = 100_000


def expand_weights(argv: Sequence[str] | None = None) -> int:
    """Write the last step of every run with its options: `expand_weights.py`."""
    parser = ScriptParser(
        prog="expand_weights.py",
        description="Cut the last step out of an export with --weights-only, and add the options "
        "of every run.",
    )
    add = adder(parser)
    add("--csv PATH", "exported weights", required=True)
    add("--csv-out PATH", "file to write (default: <csv>_expanded_100K_step.csv)")
    args = parser.parse_args(argv)

    def expand() -> None:
        path = Path(args.csv)
        out = Path(args.csv_out or path.with_name(f"{path.stem}_expanded_100K_step.csv"))
        refuse_inputs([out], [path])
        with flagged("--csv"):
            write_numbered(out, expanded(path))
        sys.stdout.write(f"{out}\n")

    return exit_code("expand_weights.py", expand)


def solution_indexes(argv: Sequence[str] | None = None) -> int:
    """Write the relevant inputs by seed: `generate_dataset_solution_indexes.py`."""
    text = "Write which two of the ten inputs matter in the runs of the robustness study, by seed."
    parser = ScriptParser(prog="generate_dataset_solution_indexes.py", description=text)
    add = adder(parser)
    add("--csv-out PATH", "file to write", usual="dataset_solution_indexes.csv")
    args = parser.parse_args(argv)

    def generate() -> None:
        # Places are counted from 0, and the second input is the one after the first.
        first = [np.random.RandomState(seed).randint(0, INPUTS - 1) for seed in range(SEEDS)]
        places = {"index.1": first, "index.2": np.add(first, 1)}
        write_plain_frame(Path(args.csv_out), pd.DataFrame({"seed": range(SEEDS), **places}))

    return exit_code("generate_dataset_solution_indexes.py", generate)


def expanded(path: Path) -> pd.DataFrame:
    """Return rows of the step that runs are compared at, with the options of their names."""
    table = Context(Drawing(()), Path()).read(path, ("name", "step"), "an export of weights")
    weights = [column for column in table if str(column).startswith("param.")]
    table = numeric(table, ["step", *weights], path)
    table = table.loc[table["step"] == LAST_STEP].reset_index(drop=True)
    if table.empty:
        raise UsageError(f"{path} has no row of step {LAST_STEP}")
    rows = with_names(table, expand_name, path)
    rows["model"] = [_label(run) for run in rows.to_dict("records")]
    return rows


def _label(run: Mapping[str, object]) -> str:
    """Return the label of the study: `s` means noise in training, `(mod)` penalties on the NPU."""
    code = str(run["model_code"])
    label = "Sign NMRU" if code == "signnmru" else model_label(code)
    if run.get("nmu.noise") is True:
        return {"NMU": "sNMU", "Sign NMRU": "Sign sNMRU"}.get(label, label)
    if label == "Real NPU" and float(str(run.get("regualizer.npu.W", 0))) > 0:
        return "Real NPU (mod)"
    return label
