"""Print a table of speed and goals: `make bench`; or some rows: `python -m benchmarks nmu`."""

import sys

import torch

from stable_nalu.base.errors import OptionError
from stable_nalu.base.script import ScriptParser, unknown_choice
from torchlanes.tiles import runtime

from . import commands, iterations
from .table import print_table, processor

MEASUREMENTS = {m.name: m for m in (*iterations.MEASUREMENTS, *commands.MEASUREMENTS)}


def main() -> None:
    """Measure the chosen rows."""
    parser = ScriptParser(prog="python -m benchmarks", description=__doc__)
    names = ", ".join(MEASUREMENTS)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"default: all quick ones. {names}")
    parser.add_argument("--all", action="store_true", help="also what takes more than a minute")
    parsed = parser.parse_args()
    for name in parsed.rows:
        if name not in MEASUREMENTS:
            problem, _, remedy = unknown_choice(name, list(MEASUREMENTS)).partition("; ")
            parser.refuse(OptionError("ROW", problem, remedy))
    quick = [name for name, m in MEASUREMENTS.items() if parsed.all or not m.slow]
    torch.set_num_threads(1)
    lanes = runtime(double=False).lanes()
    sys.stdout.write(f"processor: {processor()}; a vector holds {lanes} runs\n\n")
    print_table(MEASUREMENTS[name].measure(1.0) for name in parsed.rows or quick)


if __name__ == "__main__":
    main()
