"""The command `board`: submit a layer to the board, or check what was submitted."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from stable_nalu.base.errors import OptionError, did_you_mean
from stable_nalu.base.script import ScriptParser, exit_code, say
from stable_nalu.options.flag import integer, seeds
from stable_nalu.result.document import rate

from .ranking import NAME, OPERATIONS, kept_entries, placed

ROOT = Path("submissions")
_SUBMIT = ("layer_type", "layer_option", "training", "told", "given", "learned", "tuned", "failure")
_CHECK = ("rows", "seed", "fresh")


def main(argv: Sequence[str] | None = None) -> int:
    """Submit a layer or check a submission, and return the exit code."""
    arguments = _parser().parse_args(argv)
    return exit_code("board.py", lambda: _obey(arguments))


def _parser() -> ScriptParser:
    parser = ScriptParser(
        prog="board.py",
        description="Submit a layer to the board: train it on the benchmark of single modules, and "
        "write submissions/NAME. Or check a submission.",
    )
    add = parser.add_argument
    add("layer_file", metavar="FILE", nargs="?", type=Path, help="Python file of the layer")
    add("--submissions", type=Path, default=ROOT, metavar="DIR", help="folder (submissions)")
    add("--out", type=Path, default=Path("results"), metavar="DIR", help="of runs (results)")
    add = parser.add_argument_group("submit").add_argument
    add("--name", metavar="NAME", help="of the submission: small letters, digits and -")
    add("--layer-type", metavar="CLASS", help="of several in the file")
    add("--layer-option", nargs="+", metavar="NAME=VALUE", help="of its constructor")
    add("--training", nargs="+", metavar="NAME=VALUE", help="flags over those of the benchmark")
    add("--operation", nargs="+", choices=OPERATIONS, help="what it is trained for (all four)")
    add("--expresses", nargs="+", choices=OPERATIONS, help="what it can compute (what it solves)")
    add("--told", metavar="TEXT", help="what it is told about its operation (nothing)")
    add("--given", metavar="TEXT", help="what holds from the start")
    add("--learned", metavar="TEXT", help="what training finds (names of parameters)")
    add("--tuned", metavar="TEXT", help="runs spent on settings before these (none)")
    add("--failure", metavar="TEXT", help="of a negative result: why it does not work")
    whole = "; others are not ranked"
    add("--seeds", type=seeds.several, metavar="SEEDS", help=f"0-24{whole}")
    add("--max-iterations", type=integer(1).one, metavar="N", help=f"50000{whole}")
    add = parser.add_argument_group("check").add_argument
    add("--check", metavar="NAME", help="retrain random rows alone, and compare every digit")
    add("--rows", type=integer(1).one, metavar="N", help="how many (5)")
    add("--seed", type=integer(0).one, metavar="N", help="of the random choice (the clock)")
    add("--every", action="store_true", help="all rows instead, side by side")
    add("--unfenced", action="store_true", help="without bubblewrap: the layer may do anything")
    add("--fresh", type=integer(0).one, metavar="N", help="seeds that are not in the table (5)")
    return parser


def _obey(arguments: argparse.Namespace) -> int:
    checks = arguments.check is not None
    for name in _SUBMIT if checks else _CHECK:
        if getattr(arguments, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            remedy = "leave it out" if checks else "add --check NAME"
            raise OptionError(flag, "it belongs to the other use of this command", remedy)
    file = arguments.layer_file
    if not checks and (file is None or not file.is_file()):
        problem = f"{file} is not a file" if file else "no layer file is named"
        raise OptionError("FILE", problem, "write its path, or --check NAME")
    name = arguments.check if checks else arguments.name
    if name is None or not NAME.fullmatch(name):
        problem = f"{name!r} is not a name" if name else "the submission has no name"
        raise OptionError("--check" if checks else "--name", problem, "write one such as my-unit")
    folder = arguments.submissions / name
    if checks:
        if not folder.is_dir():
            remedy = did_you_mean(
                name, [p.name for p in arguments.submissions.glob("*")], "see --submissions"
            )
            raise OptionError("--check", f"there is no {folder}", remedy)
        from .fence import obstacle
        from .referee import check

        if not arguments.unfenced and (problem := obstacle()):
            remedy = "install it, or add --unfenced if you trust the layer"
            raise OptionError("--check", problem, remedy)
        return check(folder, arguments)
    if folder.exists():
        raise OptionError("--name", f"{folder} is there", "remove it, or write another name")
    _submit(arguments, folder)
    return 0


def submitted(arguments: argparse.Namespace) -> int:
    """Submit the layer of a challenge, and return the exit code."""
    names = ("layer_type", "layer_option", "training", "seeds", "max_iterations", "out")
    own = _parser().parse_args([str(arguments.layer_file), "--name", arguments.submit])
    for name in names:
        setattr(own, name, getattr(arguments, name))
    return _obey(own)


def _submit(arguments: argparse.Namespace, folder: Path) -> None:
    from .submission import new_card, submit

    card = new_card(arguments.layer_file, arguments)
    submission = submit(card, arguments.layer_file, folder, arguments.out)
    own = submission.entry
    for operation in card.operations:
        rivals = [r for r in kept_entries(operation) if r.told == own.told]
        table = {entry.key: entry.outcomes(operation, "benchmark") for entry in (own, *rivals)}
        found = placed(table) if card.is_whole else placed({own.key: table[own.key]})
        one = found[own.key]
        rank = f"rank {one.rank} of {len(found)}" if card.is_whole else "not ranked: a short trial"
        say(f"{operation}: {rank}, solved {rate(one.solved, one.runs, one.rate)}")
    say(f"{folder} is written; check it by --check {folder.name}")
