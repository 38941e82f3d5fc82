"""Print a table of speed ratios: `make bench`, or some parts: `python -m benchmarks in2 single`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import torch

from stable_nalu.errors import OptionError
from stable_nalu.script import ScriptParser, unknown_choice

from . import ensemble, images, pairs, plans, players, results, rivals, single
from .table import Row, print_rows

PARTS: dict[str, tuple[str, Callable[[], Iterable[Row]]]] = {
    # Measured first, while nothing is compiled.
    "in2": ("225 runs on 2 inputs against bare loops", partial(ensemble.rows, "in2")),
    "in10": ("225 runs on 10 inputs against bare loops", partial(ensemble.rows, "in10")),
    "arithmetic": ("50 runs on 100 inputs", partial(ensemble.rows, "arithmetic")),
    "group": ("all runs of a table on the same samples", partial(ensemble.rows, "group")),
    "tasks": ("tasks of the NALU paper against bare loops", partial(ensemble.rows, "tasks")),
    "players": ("numbers in words and the grid world, alone and stacked", players.rows),
    "overhead": ("validation, log and saving", plans.overhead),
    "workers": ("two processes against one, by the wall clock", plans.workers),
    "single": ("one run alone, and --help", single.rows),
    "export": ("from event files to a CSV file", results.export),
    "figure": ("from CSV files to a figure", results.figure),
    "images": ("training on images against bare loops", images.rows),
    "pairs": ("updates on pairs of digits against bare loops", pairs.rows),
    "jax": ("225 runs against JAX, where it can be imported", rivals.rows),
}


def main() -> None:
    """Measure the chosen parts."""
    described = "; ".join(f"{name}: {what}" for name, (what, _) in PARTS.items())
    parser = ScriptParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"default: all. {described}")
    chosen = parser.parse_args().parts or list(PARTS)
    for name in chosen:
        if name not in PARTS:
            problem, _, remedy = unknown_choice(name, list(PARTS)).partition("; ")
            parser.refuse(OptionError("PART", problem, remedy))
    torch.set_num_threads(1)
    print_rows(_rows(chosen))


def _rows(chosen: Iterable[str]) -> Iterator[Row]:
    for name in chosen:
        yield from PARTS[name][1]()


if __name__ == "__main__":
    main()
