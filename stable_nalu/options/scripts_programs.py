"""Programs that a network reads and computes: the NALU paper's program evaluation."""

from __future__ import annotations

from stable_nalu.errors import OptionError

from . import name_fields as nf
from .flag import Config, Flag
from .flags_model import LAYER_TYPE
from .flags_task import MAX_ITERATIONS
from .kinds import cell_names, choice, integer, whole_range, whole_ranges
from .scripts_tasks import range_field, task_script

MACHINES = ("NAC", "NALU")
"""Units whose matrices a controller makes."""


def _readers() -> tuple[str, ...]:
    return tuple(dict.fromkeys(("LSTM", "UGRNN", *MACHINES, *cell_names())))


def _check_reader(c: Config) -> None:
    """Refuse wishes about a controller that there is none of, or that makes the matrices itself."""
    from stable_nalu.layer import entries

    if c.layer_type in MACHINES:
        for option in sorted(entries()[c.layer_type].options):
            if c.is_typed(option):
                flag = f"--{option.replace('_', '-')}"
                problem = f"the controller makes the matrices of the {c.layer_type}"
                raise OptionError(flag, problem, "leave it out")
        return
    for flag in ("controller_sees_value", "controller_sees_registers", "register_size"):
        if c.is_typed(flag):
            problem = f"{c.layer_type} has no controller and no registers"
            remedy = f"leave it out, or use --layer-type {MACHINES[-1]}"
            raise OptionError(f"--{flag.replace('_', '-')}", problem, remedy)


def _check_ranges(c: Config) -> None:
    """Require test ranges of other numbers than those of training."""
    if c.train_range in c.test_ranges:
        text = str(c.train_range).replace(" ", "")
        problem = f"{text} is the range of training, which is measured anyway"
        raise OptionError("--test-ranges", problem, "leave it out")


def _ranges(c: Config) -> str:
    return "-".join(("e", *(str(end) for ends in c.test_ranges for end in ends)))


def _yes_or_no(name: str, help: str) -> Flag:
    return choice(name, None, help, ("yes", "no"))


PROGRAM_EVALUATION = task_script(
    "program_evaluation",
    summary="Train a reader of small programs, token by token, and measure what it makes of larger "
    "numbers than those it was trained on.",
    example="--program addition --layer-type NALU --seed 0-2",
    training="programs",
    task=(
        LAYER_TYPE.but(
            help="Unit of the registers that an LSTM controls, NAC or NALU; others are recurrent "
            "cells whose last state is read.",
            choices=_readers,
        ),
        choice(
            "--program",
            "addition",
            "Sums alone, or programs of +, - and if.",
            ("addition", "programs"),
        ),
        Flag(
            "--nesting",
            integer(1),
            None,
            "Operations of a program, each but the first on the result of the one before; by "
            "default 1 for addition, 2 for programs.",
        ),
        Flag("--train-range", whole_range(), [0, 100], "Range of the numbers in training."),
        Flag(
            "--test-ranges",
            whole_ranges(),
            [[100, 1000], [1000, 10000]],
            "Ranges of numbers that are tested, each by itself.",
        ),
        Flag("--hidden-size", integer(1), 64, "Width of the LSTM or cell."),
        Flag("--register-size", integer(1), 4, "Number of registers."),
        _yes_or_no(
            "--controller-sees-value",
            "Whether the LSTM sees the numbers, by default not if it controls registers.",
        ),
        _yes_or_no(
            "--controller-sees-registers",
            "Whether the LSTM sees tanh of the registers, by default only for programs, as an if "
            "needs a comparison.",
        ),
        MAX_ITERATIONS.but(default=10000),
    ),
    fragments=(
        nf.template("p-{program}"),
        nf.template("k{nesting}"),
        range_field("train_range", "i"),
        nf.NameField(_ranges, ("test_ranges",)),
        nf.template("h{hidden_size}"),
        nf.template("r{register_size}"),
        nf.template("v-{controller_sees_value}"),
        nf.template("n-{controller_sees_registers}"),
    ),
    checks=(_check_reader, _check_ranges),
    batch_size=64,
    learning_rate=3e-3,
    clip_grad_norm=1.0,
)
