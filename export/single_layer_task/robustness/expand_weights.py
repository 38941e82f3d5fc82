"""Cut the last step out of an export with --weights-only, and add the options of every run.

The figures of the robustness study read the result, or the export itself.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from stable_nalu.errors import UsageError  # noqa: E402
from stable_nalu.script import ScriptParser, exit_code  # noqa: E402


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = ScriptParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--csv", metavar="PATH", required=True, help="exported weights")
    parser.add_argument(
        "--csv-out", metavar="PATH", help="file to write (default: <csv>_expanded_100K_step.csv)"
    )
    return parser.parse_args(argv)


def expand(args: argparse.Namespace) -> None:
    """Read the last step of every run, and write it with the options of the run."""
    from stable_nalu.figures.kinds.distances import LAST_STEP, expanded
    from stable_nalu.figures.render import write_numbered
    from stable_nalu.files import refuse_inputs

    path = Path(args.csv)
    out = Path(args.csv_out or path.with_name(f"{path.stem}_expanded_100K_step.csv"))
    refuse_inputs([out], [path])
    rows = expanded(path)
    if rows.empty:
        raise UsageError(f"{path} has no row of step {LAST_STEP}")
    write_numbered(out, rows)
    sys.stdout.write(f"{out}\n")


def main(argv: list[str] | None = None) -> int:
    """Write the table; the result is the exit code."""
    args = parse_arguments(argv)
    return exit_code("expand_weights.py", lambda: expand(args))


if __name__ == "__main__":
    sys.exit(main())
