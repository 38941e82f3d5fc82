"""Two tables of the robustness study: the last weights of its runs, and the inputs that matter.

Its task has ten inputs, two of them relevant; which two follows from the seed.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stable_nalu.errors import UsageError
from stable_nalu.script import ScriptParser, exit_code

if TYPE_CHECKING:
    import pandas as pd

SEEDS = 25
INPUTS = 10
LAST_STEP = 100_000


def expand_weights(argv: Sequence[str] | None = None) -> int:
    """Write the last step of every run with its options: `expand_weights.py`."""
    parser = ScriptParser(
        prog="expand_weights.py",
        description="Cut the last step out of an export with --weights-only, and add the options "
        "of every run.",
    )
    parser.add_argument("--csv", metavar="PATH", required=True, help="exported weights")
    parser.add_argument(
        "--csv-out", metavar="PATH", help="file to write (default: <csv>_expanded_100K_step.csv)"
    )
    args = parser.parse_args(argv)

    def expand() -> None:
        from stable_nalu.files import refuse_inputs

        from .render import write_numbered

        path = Path(args.csv)
        out = Path(args.csv_out or path.with_name(f"{path.stem}_expanded_100K_step.csv"))
        refuse_inputs([out], [path])
        rows = expanded(path)
        if rows.empty:
            raise UsageError(f"{path} has no row of step {LAST_STEP}")
        write_numbered(out, rows)
        sys.stdout.write(f"{out}\n")

    return exit_code("expand_weights.py", expand)


def solution_indexes(argv: Sequence[str] | None = None) -> int:
    """Write the relevant inputs by seed: `generate_dataset_solution_indexes.py`."""
    parser = ScriptParser(
        prog="generate_dataset_solution_indexes.py",
        description="Write which two of the ten inputs matter in the runs of the robustness "
        "study, by seed.",
    )
    parser.add_argument(
        "--csv-out",
        metavar="PATH",
        default="dataset_solution_indexes.csv",
        help="file to write (default: %(default)s)",
    )
    args = parser.parse_args(argv)

    def generate() -> None:
        import pandas as pd

        from stable_nalu.statistics.table import write_plain_frame

        # Places are counted from 0.
        rows = [(seed, *relevant(seed)) for seed in range(SEEDS)]
        columns = ["seed", "index.1", "index.2"]
        write_plain_frame(Path(args.csv_out), pd.DataFrame(rows, columns=columns))

    return exit_code("generate_dataset_solution_indexes.py", generate)


def relevant(seed: int) -> tuple[int, int]:
    """Return the places of the two relevant inputs, counted from 0."""
    import numpy as np

    first = int(np.random.RandomState(seed).randint(0, INPUTS - 1))
    return first, first + 1


def expanded(path: Path) -> pd.DataFrame:
    """Return rows of the step that runs are compared at, with the options of their names."""
    from stable_nalu.statistics.names import expand_name
    from stable_nalu.statistics.table import numeric

    from .source import read_csv, with_names

    table = read_csv(path, ("name", "step"), "an export of weights")
    weights = [column for column in table if str(column).startswith("param.")]
    table = numeric(table, ["step", *weights], path)
    table = table.loc[table["step"] == LAST_STEP].reset_index(drop=True)
    if table.empty:
        return table
    rows = with_names(table, expand_name, path)
    rows["model"] = [_label(run) for run in rows.to_dict("records")]
    return rows


def _label(run: Mapping[str, object]) -> str:
    """Return the label of the study: `s` means noise in training, `(mod)` penalties on the NPU."""
    from stable_nalu.statistics.names import model_label

    label = model_label(str(run["model_code"]), robustness=True)
    if run.get("nmu.noise") is True:
        return {"NMU": "sNMU", "Sign NMRU": "Sign sNMRU"}.get(label, label)
    if label == "Real NPU" and float(str(run.get("regualizer.npu.W", 0))) > 0:
        return "Real NPU (mod)"
    return label
