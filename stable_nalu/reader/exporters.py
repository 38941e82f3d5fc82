"""The exporters as command lines: which runs each reads, and the flags of its own."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from stable_nalu.errors import OptionError
from stable_nalu.machine import granted_cores
from stable_nalu.script import ScriptParser, exit_code

from .export import export_csv
from .long_form import write_curves, write_stimuli
from .run_parser import (
    PAIRS,
    SEQUENCES,
    ArithmeticMatcher,
    MetricParser,
    RunParser,
    WeightsParser,
)
from .scores import SCORES

_OF_ARITHMETIC = {
    "--export-gate": "add the mean gate of every NALU layer",
    "--verbose": "add the first two weights and gates, which runs log under --verbose",
    "--weights-only": "write every logged weight, and no metrics, of single-layer networks",
}
_OF_PAIRS = {
    "--from-parent-folder": "--tensorboard-dir holds folders of runs; each becomes a file in the "
    "folder --csv-out"
}


def any_runs(argv: Sequence[str] | None = None) -> int:
    """Export runs of any script: one row per run and logged step, with configurations."""
    return _run_exporter(
        "runs.py",
        "Export runs of any script to a CSV file: a row per run and logged step, with "
        "configurations.",
        argv,
        scored=True,
        files={
            "--curve-out": (write_curves, "also write logged error curves: a row per point"),
            "--stimuli-out": (
                write_stimuli,
                "also write what grid worlds measured: a row per logged test and step asked for",
            ),
        },
    )


def arithmetic(argv: Sequence[str] | None = None) -> int:
    """Export the runs of the arithmetic tasks: one row per run and logged step."""
    return _run_exporter(
        "simple_function_static.py",
        "Export the runs of the arithmetic tasks to a CSV file: one row per run and logged step.",
        argv,
        _arithmetic_parser,
        _OF_ARITHMETIC,
        scored=True,
    )


def sequences(argv: Sequence[str] | None = None) -> int:
    """Export runs on digit sequences, MNIST or SVHN: one row per run and logged epoch."""
    return _run_exporter(
        "sequential_mnist.py",
        "Export runs on digit sequences, MNIST or SVHN, to a CSV file: a row per run and logged "
        "epoch.",
        argv,
        lambda args: SEQUENCES,
    )


def pairs(argv: Sequence[str] | None = None) -> int:
    """Export runs on pairs of digits: one row per run and evaluation."""
    return _run_exporter(
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


def _run_exporter(
    script: str,
    description: str,
    argv: Sequence[str] | None,
    parser_of: Callable[[argparse.Namespace], RunParser] | None = None,
    switches: Mapping[str, str] | None = None,
    jobs_of: Callable[[argparse.Namespace], Iterable[tuple[str, str]]] | None = None,
    scored: bool = False,
    files: Mapping[str, tuple[Callable[[str, str], None], str]] | None = None,
) -> int:
    """Read a command line and do what it says: the body of every exporter; return the exit code.

    parser_of: makes the rows; None: what suits each run, and its configuration always.
    switches: flags of the exporter's own, and their help.
    jobs_of: folders of runs and the files that they become, where that is not one of each.
    scored: whether runs may have logged untrained networks, which scores compare errors with.
    files: flags that name another file, what writes it from the exported one, and their help.
    """
    parser = _parser(script, description, parser_of is None, scored)
    for flag, text in (switches or {}).items():
        parser.add_argument(flag, action="store_true", help=text)
    for flag, (_, text) in (files or {}).items():
        parser.add_argument(flag, metavar="PATH", help=text)
    args = parser.parse_args(argv)

    def export() -> int:
        if not args.tensorboard_dir:
            raise OptionError("--tensorboard-dir", "missing", "name the parent folder of the runs")
        if not args.csv_out:
            raise OptionError("--csv-out", "missing", "name the file to write")
        options = {"processes": granted_cores(), "with_config": args.with_config}
        options |= {"score": args.score} if scored else {}
        whole = True
        for folder, file in jobs_of(args) if jobs_of else [(args.tensorboard_dir, args.csv_out)]:
            reader = export_csv(folder, file, parser_of and parser_of(args), **options)
            reader.tell()
            whole = whole and not reader.problems
            for flag, (write, _) in (files or {}).items():
                if other := getattr(args, flag.removeprefix("--").replace("-", "_")):
                    write(file, other)
        return 1 if args.strict and not whole else 0

    return exit_code(script, export)


def _parser(script: str, description: str, with_config: bool, scored: bool) -> ScriptParser:
    """Return the command line of an exporter, less what it has of its own; see `_run_exporter`.

    with_config: whether configurations are written always, and not when they are asked for.
    """
    parser = ScriptParser(prog=script, description=description)
    parser.add_argument("--tensorboard-dir", metavar="PATH", help="parent folder of the runs")
    parser.add_argument("--csv-out", metavar="PATH", help="file to write")
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
