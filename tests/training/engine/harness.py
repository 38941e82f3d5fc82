"""Trains command lines by the engine or in plain torch, without files, and takes what is left."""

import hashlib
from collections.abc import Sequence
from unittest import mock

import numpy as np
import torch

from stable_nalu.layer import entries
from stable_nalu.options import Config
from stable_nalu.task.table import SCRIPTS, TASKS
from stable_nalu.training import engine_stack as stack
from stable_nalu.training import recorder
from stable_nalu.training.checkpoint import LANES, TORCH, PlannedRun
from stable_nalu.training.loop import Training
from stable_nalu.writer.event_file import RESULT_TEST, RESULT_VALID
from tests.training.configurations import configurations

TYPES = {16: torch.float16, 32: torch.float32, 64: torch.float64}

ROWS = 52
"""Rows of evaluation sets of a test: fours, as blocks are made of."""

NOT_UNITS = {
    *("RNN-linear", "GRU", "LSTM", "RNN-tanh", "RNN-ReLU"),
    *("SillyReRegualizedLinearNAC", "SillyReRegualizedLinearNALU"),
}
"""Recurrent cells, and names of halves."""

IN_TORCH = {
    "EnsembleGumbelNAU": "a layer that reads self.iteration",
    "MultiWeightNAU": "a layer that reads self.iteration",
}
"""Units that the engine does not train, and why."""

SCRIPTS_OF_UNITS = ("single_layer", "simple_function_static")
UNITS = [
    (script, key)
    for key in entries()
    for script in SCRIPTS_OF_UNITS
    if key not in NOT_UNITS
    if key not in IN_TORCH
    if script == "single_layer" or key not in {"NPU", "RealNPU"}
]
"""Script and key of every unit that the engine trains."""


def words_of(script: str, key: str) -> list[str]:
    """A short run of a unit, with an operation that leaves no number undefined."""
    inner, outer = ("[1,2]", "[2,6]") if script == "single_layer" else ("[0.9,1.1]", "[1.1,1.2]")
    ranges = ["--interpolation-range", inner, "--extrapolation-range", outer]
    # A bandit's first update is its loss, less the same loss: rounding, which grows with the loss.
    operation = "add" if "Mul" in key or "Bandit" in key else "mul"
    is_long = script == "single_layer" and key.startswith("EQL")
    narrow = ["--layer-option", "width=2"] if is_long else []
    return ["--operation", operation, "--layer-type", key, *ranges, *narrow]


class Notes:
    """In the place of a recorder and a view: keeps what is written, for each run."""

    def __init__(self, runs: int):
        self.live = [True] * runs
        self.written: list[tuple[str, torch.Tensor]] = []
        self.writers = [mock.Mock() for _ in range(runs)]

    def write(self, values) -> None:
        self.written += [(tag, value.detach().clone()) for tag, value, *_ in values]

    def note(self, *_, **__) -> None: ...

    commit = flush_now_and_then = line = advance = log_point = begin_end = note


def training(script: str, configs: Sequence[Config], *, engine: bool = True) -> Training:
    """The training of runs that share a stack, or of one in plain torch."""
    torch.set_default_dtype(TYPES[configs[0].pytorch_precision])
    spec = SCRIPTS[script]
    by = LANES if engine else TORCH
    stack = [PlannedRun(c, str(k), spec.layer_options(c), by) for k, c in enumerate(configs)]
    with mock.patch.object(recorder, "EVALUATION_ROWS", ROWS):
        made = Training(TASKS[script], stack)
    notes = Notes(len(configs))
    made.open(notes, notes)
    return made


def planned(script: str, *words: str, iterations: int = 24, log_interval: int = 10) -> list[Config]:
    """The configurations of a command line that trains a few iterations."""
    fixed = ["--max-iterations", str(iterations), "--log-interval", str(log_interval)]
    return configurations(script, *words, "--no-cuda", *fixed)


def left_behind(script: str, configs: Sequence[Config], pace: int = 4096) -> list[dict[str, bytes]]:
    """Train stacked runs to their end; the bits of all that each leaves behind, by name."""
    return left_together([(script, configs)], pace)[0]


def left_together(
    stacks: Sequence[tuple[str, Sequence[Config]]], pace: int = 4096
) -> list[list[dict[str, bytes]]]:
    """Train stacks that share their samples, in turns; what each run of each leaves behind.

    A call of the engine makes at most `pace` iterations.
    """
    with mock.patch.multiple(stack, FIRST_CHUNK=pace, LONGEST_CHUNK=pace):
        made = [training(*stack) for stack in stacks]
        made[0].share_samples(made[1:])
        turns = {one: one.train() for one in made}
        while turns:
            turns = {one: steps for one, steps in turns.items() if next(steps, turns) is not turns}
        for one in made:
            one.pause()
    return [[_of_run(one, run) for run in range(one.runs)] for one in made]


def _of_run(made: Training, run: int) -> dict[str, bytes]:
    names = [name for name, p in made.model.named_parameters() if p.requires_grad]
    held = {name: value[run] for name, value in made.model.state_dict().items()}
    for slot, values in made.step.optimizer.state.items():
        held |= {f"{slot} {name}": v[run] for name, v in zip(names, values, strict=True)}
    notes = made.recorder.written
    held |= {f"{k} {tag}": value[run] for k, (tag, value) in enumerate(notes)}
    held["total"] = made.last_total[run]
    errors = [made.errors.get(tag, [np.inf] * made.runs) for tag in (RESULT_VALID, RESULT_TEST)]
    held["errors"] = torch.tensor([error[run] for error in errors])
    held["noise"] = made.random.generators[run].get_state()
    found = {name: bits(value) for name, value in held.items()}
    x, t = made.task.feed.streams[run].draw(1, 400)
    return found | {"next x": bits(x), "next t": bits(t)}


def bits(value: torch.Tensor) -> bytes:
    """The bits of numbers; what is not a number counts as equal."""
    array = value.detach().contiguous().numpy().copy()
    if array.dtype.kind == "f":
        array[np.isnan(array)] = np.nan
    return array.tobytes()


def digest(left: dict[str, bytes]) -> str:
    """64 bits of the digest of what a run left behind."""
    content = b"\0".join(name.encode() + b"\0" + left[name] for name in sorted(left))
    return hashlib.sha256(content).hexdigest()[:16]
