"""Experiments of the NALU paper and of the articles about it: each a task of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stable_nalu.errors import OptionError

from . import checks
from . import name_fields as nf
from .flag import Config, Flag, FlagGroup, switch
from .flags_model import LAYER_TYPE
from .flags_task import MAX_ITERATIONS, OPTIMIZER, SEED
from .flags_training import LOGGING, RUN_CONTROL
from .kinds import (
    buildable_layers,
    cell_names,
    choice,
    integer,
    interval,
    layers_of_pairs,
    number,
    span,
)
from .script_spec import ScriptSpec
from .scripts_sequence import LAYER_OPTIONS, PENALTY_RAMP, lower

_LEARNING_RATE = nf.template(
    "lr-{optimizer}-{learning_rate:.5f}", learning_rate="printed with five decimals"
)


def _script(
    name: str,
    *,
    summary: str,
    example: str,
    training: str,
    task: tuple[Flag, ...],
    fragments: tuple[nf.NameField, ...],
    checks: tuple[Callable[[Config], None], ...] = (),
    batch_size: int | None,
    learning_rate: float,
    clip_grad_norm: float | None = None,
    log_interval: int = 1000,
) -> ScriptSpec:
    """Return the description of a task's script.

    fragments: fields of its run names that vanish at their defaults. batch_size: None for a task
    that says itself what a batch is.
    """
    batch = () if batch_size is None else (_BATCH_SIZE.but(default=batch_size),)
    return ScriptSpec(
        name=name,
        summary=summary,
        example=example,
        training=f"stable_nalu.training.tasks.{training}",
        groups=(
            FlagGroup("Task", *task, *batch, SEED),
            *LAYER_OPTIONS,
            OPTIMIZER.without("--momentum", "--clip-grad-value").but(
                optimizer={"choices": ("adam", "rmsprop", "sgd")},
                learning_rate={"default": learning_rate},
                clip_grad_norm={"default": clip_grad_norm},
            ),
            LOGGING.without("--save-best-model").but(
                name_prefix={"default": name},
                log_interval={"default": log_interval, "unnamed": _DENSITY},
            ),
            RUN_CONTROL.without("--no-compile"),
        ),
        name_fields=(
            lower("layer_type"),
            *map(nf.trailing, fragments),
            *((nf.template("b{batch_size}"),) if batch else ()),
            nf.template("s{seed}"),
            _LEARNING_RATE,
            nf.trailing(nf.GRAD_NORM),
            *nf.LAYER_OPTIONS_TRAILING,
            nf.trailing(nf.ID),
        ),
        checks=(*_CHECKS, *checks),
        fixed=PENALTY_RAMP,
    )


_DENSITY = "it changes how densely a run is recorded, not what it computes"
_BATCH_SIZE = Flag("--batch-size", integer(1), 64, "Number of examples in a training batch.")
_CHECKS = (checks.check_nalu, checks.check_files)


def _range(flag: str, letter: str) -> nf.NameField:
    return nf.template(f"{letter}-{{{flag}[0]}}-{{{flag}[1]}}")


def _layers(own: Callable[[], Mapping[str, Any]]) -> Callable[[], tuple[str, ...]]:
    """Return a function that lists a task's own networks, and all layers that map a vector."""

    def names() -> tuple[str, ...]:
        units = [name for name in buildable_layers() if name not in layers_of_pairs()]
        return tuple(dict.fromkeys((*own(), *units)))

    return names


def _activations() -> Mapping[str, Any]:
    from stable_nalu.network.dense import ACTIVATIONS

    return ACTIVATIONS


def _check_test_range(c: Config) -> None:
    """Require a test range that reaches beyond the range of training."""
    (low, high), (first, last) = c.train_range, c.test_range
    if first >= low and last <= high:
        raise OptionError(
            "--test-range",
            f"[{first},{last}] lies within --train-range [{low},{high}]",
            "nothing is extrapolated; give a wider one",
        )


def _check_grid(c: Config) -> None:
    """Require a range that holds whole numbers, where these are trained on."""
    low, high = c.train_range
    if c.train_sampling == "grid" and high - low < 1:
        raise OptionError(
            "--train-range",
            f"[{low},{high}] is too narrow for --train-sampling grid, its whole numbers",
            "give a wider one, or --train-sampling uniform",
        )


IDENTITY_AUTOENCODER = _script(
    "identity_autoencoder",
    summary="Train a scalar autoencoder on the identity, and measure how it fails beyond the range "
    "that it was trained on.",
    example="--layer-type Tanh --seed 0-99",
    training="identity",
    task=(
        LAYER_TYPE.but(
            default="ReLU",
            help="Activation of the hidden layers, or the unit of all layers, by its key.",
            choices=_layers(_activations),
        ),
        choice(
            "--train-sampling",
            "grid",
            "Train on all whole numbers of the range at once, or on a fresh uniform batch of "
            "--batch-size numbers.",
            ("grid", "uniform"),
        ),
        Flag("--train-range", interval(), [-5, 5], "Range of the training inputs."),
        Flag("--test-range", interval(), [-20, 20], "Range over which the error is measured."),
        Flag("--hidden-size", integer(1), 8, "Width of the hidden layers."),
        Flag("--hidden-layers", integer(1), 3, "Number of hidden layers."),
        MAX_ITERATIONS.but(default=10000),
    ),
    fragments=(
        nf.template("t-{train_sampling}"),
        _range("train_range", "i"),
        _range("test_range", "e"),
        nf.template("h{hidden_size}x{hidden_layers}"),
    ),
    checks=(_check_test_range, _check_grid),
    batch_size=64,
    learning_rate=1e-2,
)


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


_TESTING = "it changes what is measured, not how a run is trained"

GRIDWORLD_TIME = _script(
    "gridworld_time",
    summary="Train a player of a grid world to arrive at a step that it is told, and measure when "
    "it arrives where later steps are asked for than in training.",
    example="--layer-type NAC --nac-wiring recurrent --seed 0-2",
    training="gridworld",
    task=(
        LAYER_TYPE.but(
            default="NAC",
            help="Unit of the register beside the LSTM, by its key; LSTM: no register.",
            choices=_layers(_units_of_registers),
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
        Flag("--time-limit", integer(1), 24, "Steps after which a world of training ends."),
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
            unnamed=_TESTING,
        ),
        Flag(
            "--eval-episodes",
            integer(1),
            400,
            "Episodes of a test, with the most likely actions.",
            unnamed=_TESTING,
        ),
        Flag(
            "--eval-interval",
            integer(1),
            500,
            "Updates between two tests, which log points at its multiples make; the last update is "
            "one, too.",
            unnamed=_TESTING,
        ),
    ),
    fragments=(
        nf.template("w-{nac_wiring}"),
        nf.template("o-{observation}"),
        _range("stimulus_range", "t"),
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
