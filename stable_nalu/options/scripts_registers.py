"""Tasks of the NALU paper with registers beside an LSTM: the grid world, and programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stable_nalu.errors import OptionError

from . import name_fields as nf
from .flag import Config, Flag, switch
from .flags_model import LAYER_TYPE
from .flags_task import MAX_ITERATIONS
from .kinds import (
    and_layers,
    buildable_layers,
    cell_names,
    choice,
    integer,
    number,
    span,
    whole_range,
    whole_ranges,
)
from .scripts_tasks import TESTING, range_field, task_script


def _units_of_registers() -> Mapping[str, Any]:
    return dict.fromkeys(cell_names())


_BASELINE = "LSTM"


def _check_wiring(c: Config) -> None:
    """Require a unit that can be wired as asked for."""
    if c.layer_type == _BASELINE:
        if c.is_typed("nac_wiring"):
            problem = f"{_BASELINE} is the baseline, which has no unit to be wired"
            raise OptionError("--nac-wiring", problem, "leave it out")
        return
    recurrent = c.nac_wiring == "recurrent"
    if c.layer_type not in (cell_names() if recurrent else buildable_layers()):
        what, other = ("no recurrent cell", "feedforward")
        if not recurrent:
            what, other = ("a recurrent cell alone", "recurrent")
        raise OptionError("--nac-wiring", f"{c.layer_type} has {what}", f"use --nac-wiring {other}")


def _check_worlds(c: Config) -> None:
    """Require worlds that can be left at every step that is asked for."""
    _, last = c.stimulus_range
    if c.time_limit < last:
        raise OptionError(
            "--time-limit",
            f"{c.time_limit} ends worlds before step {last}, which --stimulus-range asks for",
            f"give at least {last}",
        )
    if c.reachable_only and c.no_reachable_only:
        raise OptionError(
            "--reachable-only", "contradicts --no-reachable-only", "leave one of them out"
        )


GRIDWORLD_TIME = task_script(
    "gridworld_time",
    summary="Train a player of a grid world to arrive at a step that it is told, and measure when "
    "it arrives where later steps are asked for than in training.",
    example="--layer-type NAC --nac-wiring recurrent --seed 0-2",
    training="gridworld",
    task=(
        LAYER_TYPE.but(
            default="NAC",
            help="Unit of the register beside the LSTM, by its key or name; LSTM: no register.",
            choices=and_layers(_units_of_registers),
        ),
        choice(
            "--nac-wiring",
            "recurrent",
            "Register of the unit: a state that it maps at every step, given the number at the "
            "first, or the number mapped once.",
            ("recurrent", "feedforward"),
        ),
        choice(
            "--observation",
            "symbolic",
            "What is seen of a world: two planes of 5 x 5, or 56 x 56 pixels.",
            ("symbolic", "pixels"),
        ),
        Flag("--stimulus-range", span(), [5, 12], "Steps of arrival that training asks for."),
        Flag("--max-reward", number(above=0), 10, "Reward of an arrival at the right step."),
        Flag("--time-limit", integer(1, 10**6), 24, "Steps after which a world of training ends."),
        choice(
            "--reward-shape",
            "linear",
            "Reward of an arrival: less by one for each step from the right one, or for the right "
            "step only. The published shape is unknown.",
            ("linear", "exact"),
        ),
        choice(
            "--late",
            "symmetric",
            "Whether a late arrival pays as an early one does, or nothing.",
            ("symmetric", "zero"),
        ),
        switch(
            "--reachable-only",
            "Place every square within reach, as is done by default.",
            unnamed="it says what is done anyway",
            result=False,
        ),
        switch("--no-reachable-only", "Place squares also where they cannot be reached in time."),
        Flag("--hidden-size", integer(1), 64, "Width of the LSTM."),
        Flag("--register-size", integer(1), 4, "Width of the register."),
        Flag("--episodes-per-update", integer(1), 64, "Number of whole episodes in an update."),
        Flag("--entropy", number(0), 0.02, "First weight of the policy's entropy in the loss."),
        Flag(
            "--entropy-iterations",
            integer(1),
            3000,
            "Updates over which that weight falls to a tenth.",
        ),
        Flag("--discount", number(above=0, maximum=1), 0.99, "Discount of a return per step."),
        MAX_ITERATIONS.but(default=3000),
        Flag(
            "--eval-stimuli",
            span(),
            [5, 25],
            "Steps of arrival that are tested, each by itself.",
            unnamed=TESTING,
        ),
        Flag(
            "--eval-episodes",
            integer(1),
            400,
            "Episodes of a test, with the most likely actions.",
            unnamed=TESTING,
        ),
        Flag(
            "--eval-interval",
            integer(1),
            500,
            "Updates between two tests, which log points at its multiples make; the last update is "
            "one, too.",
            unnamed=TESTING,
        ),
    ),
    fragments=(
        nf.template("w-{nac_wiring}"),
        nf.template("o-{observation}"),
        range_field("stimulus_range", "t"),
        nf.template("m{max_reward}"),
        nf.template("l{time_limit}"),
        nf.template("r-{reward_shape}"),
        nf.template("late-{late}"),
        nf.either("no_reachable_only", "far", "near"),
        nf.template("h{hidden_size}"),
        nf.template("k{register_size}"),
        nf.template("b{episodes_per_update}"),
        nf.template("e-{entropy}-{entropy_iterations}"),
        nf.template("g{discount}"),
    ),
    checks=(_check_wiring, _check_worlds),
    batch_size=None,
    learning_rate=1e-3,
    clip_grad_norm=0.5,
    log_interval=100,
)


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
