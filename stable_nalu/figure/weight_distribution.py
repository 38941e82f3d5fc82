"""Show how the weights of a NAC are distributed: drawn at random, or as a layer starts with them.

A table of the histogram goes to --csv-out, a drawing to --figure-out; shares of weights near 0, 1
and -1 are printed. Nothing is trained.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from stable_nalu.errors import OptionError, UsageError
from stable_nalu.files import STREAMS, atomic_path, refuse_one_file
from stable_nalu.options.kinds import integer, interval
from stable_nalu.script import ScriptParser, exit_code

if TYPE_CHECKING:
    import numpy as np

    from .weights import Weights

SCRIPT = "weight_distribution.py"
MOST_DRAWS, MOST_BINS = 10_000_000, 100_000
_STARTS = ("uniform", "xavier-normal", "truncated-normal", "nac")
_FORMATS = ("pdf", "png")
_EXAMPLE = """example:
  weight_distribution.py --init uniform nac --figure-out weights.png --csv-out weights.csv
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Draw weights, write what is asked for, and return the exit code."""
    parser = ScriptParser(prog=SCRIPT, description=__doc__, epilog=_EXAMPLE)
    add = parser.add_argument
    add(
        "--draws",
        metavar="INT",
        type=integer(1).one,
        default=1000,
        help="number of weights (default: %(default)s)",
    )
    add(
        "--range",
        metavar="[LOW,HIGH]",
        type=interval().one,
        help="what --init uniform draws from (default: [-10,10])",
    )
    add("--bins", metavar="INT", type=integer(1).one, default=100, help="default: %(default)s")
    add("--seed", metavar="INT", type=integer(0).one, default=0, help="default: %(default)s")
    add(
        "--init",
        metavar="NAME",
        nargs="+",
        choices=_STARTS,
        default=["uniform"],
        help="uniform (the default): tanh and sigmoid of numbers from --range; xavier-normal, "
        "truncated-normal, nac: weights that a layer of 100 inputs and 10 outputs starts with; "
        "several are drawn beside each other",
    )
    add("--csv-out", metavar="PATH", type=Path, help="table to write: a row per bin")
    add("--figure-out", metavar="PATH", type=Path, help="drawing to write, .png or .pdf")
    args = parser.parse_args(argv)
    return exit_code(SCRIPT, lambda: _run(args))


def _check(args: argparse.Namespace) -> None:
    for flag, value, most in (
        ("--draws", args.draws, MOST_DRAWS),
        ("--bins", args.bins, MOST_BINS),
    ):
        if value > most:
            raise OptionError(flag, f"{value} is too large", f"the largest value is {most}")
    twice = next((start for start in args.init if args.init.count(start) > 1), None)
    if twice is not None:
        raise OptionError("--init", f"{twice} is given twice", "give every value once")
    if args.range is not None and "uniform" not in args.init:
        raise OptionError("--range", f"{args.init[0]} draws from no range", "add --init uniform")
    if args.figure_out is not None and args.figure_out.suffix[1:] not in _FORMATS:
        problem = f"{args.figure_out} is not a name of a figure"
        raise OptionError("--figure-out", problem, "let it end with .png or .pdf")
    outputs = {"--csv-out": args.csv_out, "--figure-out": args.figure_out}
    refuse_one_file({flag: path for flag, path in outputs.items() if path is not None})


def _run(args: argparse.Namespace) -> None:
    _check(args)
    from .weights import Shares, Weights

    low, high = args.range or (-10, 10)
    part = Weights(tuple(args.init), args.draws, (low, high), args.bins, args.seed)
    weights = part.weights()
    try:
        with _figure(args.figure_out, part, weights):
            _write_table(args.csv_out, part, weights)
    except OSError as error:
        raise UsageError(f"cannot write {args.figure_out}: {error.strerror}") from None
    if str(args.csv_out) not in STREAMS:
        for start, w in weights.items():
            sys.stdout.write(f"{start}: {len(w)} weights, {Shares.of(w)}\n")


@contextmanager
def _figure(path: Path | None, part: Weights, weights: Mapping[str, np.ndarray]) -> Iterator[None]:
    """Write the drawing, if one is asked for, unless the block fails."""
    if path is None:
        yield
        return
    from .style import drawing, save_as
    from .weights import draw

    with atomic_path(path) as temporary:
        with drawing():
            save_as(draw(part, weights), temporary, path.suffix[1:])
        yield


def _write_table(path: Path | None, part: Weights, weights: Mapping[str, np.ndarray]) -> None:
    if path is not None:
        from stable_nalu.statistics.table import write_table

        from .weights import COLUMNS, rows

        write_table(path, COLUMNS, rows(part, weights))
