"""The exporters: which runs each reads, and the flags of its own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from stable_nalu.errors import OptionError

from .export import PAIRS, SEQUENCES, ArithmeticMatcher, run_exporter
from .run_parser import MetricParser, RunParser, WeightsParser

_OF_ARITHMETIC = {
    "--export-gate": "add the mean gate of every NALU layer",
    "--verbose": "add the first two weights and gates, which runs log under --verbose",
    "--weights-only": "write every logged weight, and no metrics, of single-layer networks",
}
_OF_PAIRS = {
    "--from-parent-folder": "--tensorboard-dir holds folders of runs; each becomes a file in the "
    "folder --csv-out"
}


def arithmetic(argv: Sequence[str] | None = None) -> int:
    """Export the runs of the arithmetic tasks: one row per run and logged step."""
    return run_exporter(
        "simple_function_static.py",
        "Export the runs of the arithmetic tasks to a CSV file: one row per run and logged step.",
        argv,
        _arithmetic_parser,
        _OF_ARITHMETIC,
    )


def sequences(argv: Sequence[str] | None = None) -> int:
    """Export runs on digit sequences, MNIST or SVHN: one row per run and logged epoch."""
    return run_exporter(
        "sequential_mnist.py",
        "Export runs on digit sequences, MNIST or SVHN, to a CSV file: a row per run and logged "
        "epoch.",
        argv,
        lambda args: SEQUENCES,
    )


def pairs(argv: Sequence[str] | None = None) -> int:
    """Export runs on pairs of digits: one row per run and evaluation."""
    return run_exporter(
        "two_digit_mnist_reader.py",
        "Export runs on pairs of digits to CSV files: one row per run and evaluation.",
        argv,
        lambda args: PAIRS,
        _OF_PAIRS,
        _folders_and_files,
    )


def _arithmetic_parser(args: argparse.Namespace) -> RunParser:
    if args.weights_only:
        return WeightsParser()
    return MetricParser(ArithmeticMatcher(args.export_gate), recursive_weight=args.verbose)


def _folders_and_files(args: argparse.Namespace) -> list[tuple[str, str]]:
    """Return each folder of runs on pairs and the file that it becomes."""
    if not args.from_parent_folder:
        return [(args.tensorboard_dir, args.csv_out)]
    parent = Path(args.tensorboard_dir)
    if not parent.is_dir():
        raise OptionError("--tensorboard-dir", f"there is no folder {parent}", "name another")
    found = sorted(folder for folder in parent.iterdir() if folder.is_dir())
    shown = [folder for folder in found if not folder.name.startswith(".")]
    if not shown:
        problem = f"there are no folders of runs in {parent}"
        raise OptionError("--tensorboard-dir", problem, "leave out --from-parent-folder")
    return [(str(f), str(Path(args.csv_out) / f"{f.name}.csv")) for f in shown]
