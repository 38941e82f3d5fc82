"""Whether runs fail for the same reason when one start weight changes in its last bit.

`python -m tools.nudged KEY SEEDS OUT` trains the runs of the first seeds so, and notes the classes.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from stable_nalu.base.files import cells_of
from stable_nalu.base.script import ScriptParser, begin, exit_code
from stable_nalu.options.flag import integer
from stable_nalu.paper.index import find
from stable_nalu.result.pipeline import Folders, kept_apart
from stable_nalu.result.shard import shards, train_shards
from stable_nalu.result.stored import DATA, formulas_of, keep_formulas
from stable_nalu.statistics.table import write_rows
from stable_nalu.training.checkpoint import RunState

from .atlas import NUDGED, by_run

_seeded = RunState._seeded


def _nudged(run: RunState) -> Any:
    """Return the model of runs; the first start weight of each is the next larger number."""
    model, random = _seeded(run)
    first = next(model.parameters())
    with torch.no_grad():
        first = first.view(run.runs, -1)[:, 0]
        first.copy_(torch.nextafter(first, torch.full_like(first, torch.inf)))
    return model, random


def classes(key: str, data: Path) -> dict[tuple[str, ...], str]:
    """Return the class of each run, `solved` for one that is, by what tells runs apart."""
    rows = by_run(key, formulas_of(key, data))
    return {run: row["failure"] or "solved" for run, row in rows.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Train, classify, and note both classes of each run that had failed."""
    parser = ScriptParser(prog="tools.nudged", description=__doc__)
    parser.add_argument("key", metavar="KEY")
    parser.add_argument("seeds", metavar="SEEDS", type=integer(1).one, help="how many")
    parser.add_argument("out", metavar="OUT", type=Path)
    args = parser.parse_args(argv)
    return exit_code(parser.prog, lambda: _note(args.key, range(args.seeds), args.out))


def _note(key: str, seeds: range, out: Path) -> int:
    experiment, space = find(key), Folders(out)
    space.use()
    RunState._seeded = _nudged
    code = train_shards(shards({model.key: model for model in experiment.models}, seeds))
    if code:
        return code
    with kept_apart(experiment, seeds, space) as (folder, planned):
        keep_formulas(experiment, planned, folder)
        again = classes(key, folder)
    path = DATA / NUDGED
    rows = [row for row in cells_of(path) if row["key"] != key] if path.exists() else []
    for run, failure in classes(key, DATA).items():
        if run in again and failure != "solved":
            told = {"key": key, "model": run[0], "run": " ".join(filter(None, run[1:]))}
            rows.append(told | {"failure": failure, "nudged": again[run]})
    write_rows(path, rows)
    return 0


if __name__ == "__main__":
    begin()
    raise SystemExit(main())
