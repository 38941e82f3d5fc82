"""CSV files from event files: what the scripts in `export/` share."""

import argparse
import csv
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from stable_nalu.errors import UsageError
from stable_nalu.files import atomic_text_file
from stable_nalu.tags import GATE_MEAN_SUFFIX, METRIC, METRIC_TEST, METRIC_VALID

from .metric_reader import RunTable, TensorboardMetricReader


@dataclass(frozen=True)
class ArithmeticMatcher:
    """The metrics of the arithmetic tasks and, with `gates`, the mean gate of NALU layers."""

    gates: bool = False

    def __call__(self, tag: str) -> bool:
        """Whether `tag` becomes a column."""
        return tag in (METRIC_VALID, METRIC_TEST) or (self.gates and tag.endswith(GATE_MEAN_SUFFIX))


@dataclass(frozen=True)
class SequenceMatcher:
    """The mean squared errors of training, validation and every test length."""

    def __call__(self, tag: str) -> bool:
        """Whether `tag` becomes a column."""
        return tag.endswith("/mse") and tag.startswith(
            (f"{METRIC}/train", f"{METRIC}/valid", f"{METRIC_TEST}/")
        )


def sequence_reader(
    folder: str, processes: int | None = None, progress_bar: bool = True
) -> TensorboardMetricReader:
    """Tables of runs on digit sequences, with the first two weights of verbose ones."""
    return TensorboardMetricReader(
        folder,
        metric_matcher=SequenceMatcher(),
        # Training counts updates from 1.
        step_start=1,
        recursive_weight=True,
        processes=processes,
        progress_bar=progress_bar,
    )


def add_export_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of every exporter."""
    parser.add_argument("--tensorboard-dir", metavar="PATH", help="parent folder of the runs")
    parser.add_argument("--csv-out", metavar="PATH", help="file to write")
    parser.add_argument(
        "--strict", action="store_true", help="exit code 1 when a run is skipped or incomplete"
    )


def open_reader(
    tensorboard_dir: str | None, build: Callable[[str], TensorboardMetricReader]
) -> TensorboardMetricReader:
    """`build(tensorboard_dir)`, after making sure that there are runs in it."""
    if not tensorboard_dir:
        raise UsageError("--tensorboard-dir is required: the parent folder of the runs")
    try:
        reader = build(tensorboard_dir)
    except OSError as error:
        raise UsageError(
            f"cannot read --tensorboard-dir {tensorboard_dir}: {error.strerror}"
        ) from error
    if len(reader) == 0:
        raise UsageError(f"no runs in --tensorboard-dir {tensorboard_dir}")
    return reader


def export_csv(reader: TensorboardMetricReader, csv_out: str | None) -> None:
    """Write all runs of `reader` to `csv_out`, which is left alone when there is no data."""
    if not csv_out:
        raise UsageError("--csv-out is required: the file to write")
    path = Path(csv_out)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_text_file(path) as file:
            if not write_tables(reader.tables(), csv.writer(file, lineterminator="\n")):
                reasons = "; ".join(f"{p.run}: {p.message}" for p in reader.problems[:3])
                raise UsageError(f"nothing to export, no run has data ({reasons})")
    except OSError as error:
        raise UsageError(f"cannot write --csv-out {csv_out}: {error.strerror}") from error


def write_tables(tables: Iterable[RunTable], writer) -> bool:
    """Header once, then the rows of every run; whether there were any.

    Numbers in Python's shortest form that reads back as the same float64, missing cells empty:
    the text that pandas writes.
    """
    started = False
    for table in tables:
        if not started:
            writer.writerow(("name", *table.columns))
            started = True
        cells = [["" if cell != cell else cell for cell in c] for c in table.columns.values()]
        names = [table.name] * len(cells[0])
        writer.writerows(zip(names, *cells, strict=True))
    return started


def conclude(reader: TensorboardMetricReader, strict: bool) -> int:
    """Exit code of an export: 1 under `strict` when runs are absent or incomplete."""
    if not reader.problems:
        return 0
    skipped = sum(problem.skipped for problem in reader.problems)
    sys.stderr.write(
        f"{len(reader)} runs: {skipped} skipped, {len(reader.problems) - skipped} read in part\n"
    )
    return 1 if strict else 0
