"""The league of equal tuning: every unit gets as many random settings, chosen on other seeds.

`python3 -m tools.tuning` trains what docs/board lacks: for each unit and operation the settings
below, on seeds that nobody is judged on; then the best of them on the seeds of the benchmark.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from stable_nalu.base.errors import OptionError
from stable_nalu.base.files import CHECKOUT, cells_of
from stable_nalu.base.script import ScriptParser, exit_code, say
from stable_nalu.bench.board import judged_rows
from stable_nalu.bench.ranking import OPERATIONS, Entry, kept_entries
from stable_nalu.paper.experiment import Flags, Model, merged, words
from stable_nalu.paper.index import find
from stable_nalu.result.pipeline import Folders
from stable_nalu.statistics.table import write_rows

TUNED_RUNS = CHECKOUT / "docs" / "board" / "equal_tuning.csv"
SETTINGS = TUNED_RUNS.with_name("settings.csv")
NUMBER, TUNING_SEEDS, SEEDS = 8, range(1000, 1005), range(25)
RATE = ("--learning-rate", 1e-4, 1.0)
_PENALTY = ("--regualizer", 1e-3, 1e2)
_POWERS = ("--regualizer-beta-end", 1e-9, 1e-3)
DECLARED = {
    **dict.fromkeys(("NAU", "NMU", "sNMU", "NRU", "NMRU", "MCFC"), _PENALTY),
    **dict.fromkeys(("NPU", "Real NPU", "Real NPU (modified)"), _POWERS),
    **dict.fromkeys(("DMU, operands given", "DMU, operands learned"), ("temperature", 0.02, 1.0)),
    "iNALU": ("--clip-grad-value", 0.01, 1.0),
}
"""Unit -> what is drawn besides the learning rate, log-uniformly: its flag or option, and where."""
_FIRST = ("DMU, operands learned", "NMU", "DMU, operands given", "NRU", "NMRU", "NAU")
KEPT = (
    *("unit", "operation", "interpolation.range", "seed", "iterations"),
    *("extrapolation.step.solved", "extrapolation.last", "verdict"),
)


def settings(entry: Entry, model: Model, operation: str) -> list[Flags]:
    """Return the random settings of a unit at an operation, the same every time."""
    draws = random.Random(f"{entry.label} {operation}")
    return [dict(_setting(entry.label, model, draws)) for _ in range(NUMBER)]


def _setting(label: str, model: Model, draws: random.Random) -> Iterator[tuple[str, tuple]]:
    for name, low, high in (RATE, *([DECLARED[label]] if label in DECLARED else [])):
        value = f"{math.exp(draws.uniform(math.log(low), math.log(high))):.2g}"
        if name == "temperature":
            yield "--layer-option", (*model.flags["--layer-option"], f"{name}={value}")
            continue
        yield name, (value,)
        if name.endswith("beta-end"):
            yield "--regualizer-beta-start", (f"{float(value) / 100:.2g}",)


def tuned(entry: Entry, operation: str) -> tuple[list[dict[str, str]], list[dict[str, object]]]:
    """Return the runs of a unit by the best of its settings, and what came of every setting."""
    experiment = find(f"benchmark_sltr_{operation}")
    own = find(entry.key[0]).model(entry.key[1])
    drawn = settings(entry, own, operation)
    models = [
        replace(own, key=f"s{k}", prefix=f"tuning/{k}", csv=f"{k}", flags=merged(own.flags, one))
        for k, one in enumerate(drawn)
    ]
    with TemporaryDirectory() as out:
        every = replace(experiment, models=tuple(models))
        rows = judged_rows(every, TUNING_SEEDS, Folders(Path(out)))
    found = [[row for row in rows if row["model"] == model.key] for model in models]
    best = max(range(NUMBER), key=lambda k: _score(found[k]))
    with TemporaryDirectory() as out:
        chosen = replace(experiment, models=(models[best],))
        rows = judged_rows(chosen, SEEDS, Folders(Path(out)))
    runs = [{name: (row | {"unit": entry.label})[name] for name in KEPT} for row in rows]
    told: list[dict[str, object]] = [
        {
            "unit": entry.label,
            "operation": operation,
            "setting": " ".join(words(one)),
            "solved": _score(found[k])[0],
            "of": len(found[k]),
            "chosen": int(k == best),
        }
        for k, one in enumerate(drawn)
    ]
    return runs, told


def _score(rows: Sequence[dict[str, str]]) -> tuple[int, float]:
    """Return how many runs are solved; of equals, those that are so sooner are better."""
    steps = [float(row["extrapolation.step.solved"]) for row in rows if row["solved"] == "1"]
    return len(steps), -median(steps) if steps else -math.inf


def main(argv: Sequence[str] | None = None) -> int:
    """Train what is left, and return the exit code."""
    parser = ScriptParser(prog="tools.tuning", description=__doc__)
    parser.add_argument("operations", metavar="OPERATION", nargs="*", help=", ".join(OPERATIONS))
    args = parser.parse_args(argv)
    return exit_code(parser.prog, lambda: _train_left(args.operations or OPERATIONS))


def _train_left(operations: Sequence[str]) -> None:
    for operation in operations:
        if operation not in OPERATIONS:
            raise OptionError("OPERATION", f"{operation!r} is unknown", ", ".join(OPERATIONS))
        units = kept_entries(operation)
        units.sort(key=lambda e: _FIRST.index(e.label) if e.label in _FIRST else len(_FIRST))
        for entry in units:
            runs, every = (cells_of(p) if p.exists() else [] for p in (TUNED_RUNS, SETTINGS))
            if any((row["unit"], row["operation"]) == (entry.label, operation) for row in every):
                continue
            say(f"{operation}: {entry.label}")
            new, told = tuned(entry, operation)
            TUNED_RUNS.parent.mkdir(exist_ok=True)
            write_rows(TUNED_RUNS, [*runs, *new])
            write_rows(SETTINGS, [*every, *told])
            for one in told:
                say("  {chosen} {solved} of {of}: {setting}".format_map(one))


if __name__ == "__main__":
    raise SystemExit(main())
