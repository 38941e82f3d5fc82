"""Two tables of the robustness study: the weights that its figures show, and the inputs used."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from stable_nalu.errors import UsageError
from stable_nalu.script import ScriptParser, exit_code

SEEDS = 25


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

        from .kinds.distances import LAST_STEP, expanded
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

        from .kinds.distances import relevant

        # Places are counted from 0.
        rows = [(seed, *relevant(seed)) for seed in range(SEEDS)]
        columns = ["seed", "index.1", "index.2"]
        write_plain_frame(Path(args.csv_out), pd.DataFrame(rows, columns=columns))

    return exit_code("generate_dataset_solution_indexes.py", generate)
