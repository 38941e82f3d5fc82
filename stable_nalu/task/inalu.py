"""The tasks of the iNALU paper: one unit of two inputs, or two layers of a hundred.

The target is an operation on two sums of inputs; initial weights are normal, drawn by the generator
of the data. Batches come in one order, 1,000 of them an epoch, which is never shuffled. Of ten
steps the first eight update weights, the last two gates. From epoch 11 on, counted from 0, an
update that pushes them away from 0 follows each batch whose loss is below 1. In epochs 10, 20, ...
a run whose loss does not fall starts again from uniform values within 2 of 0, by the same
generator.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from stable_nalu.dataset.simple_function import OrderedStream, StoredStream
from stable_nalu.dataset.two_sums import DISTRIBUTIONS, two_sums
from stable_nalu.network.drawn import DrawnNetwork
from stable_nalu.options import Config, Flag, FlagGroup
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import buildable_layers, choice, integer, number
from stable_nalu.options.flags import refuse
from stable_nalu.statistics.setups import Limit
from stable_nalu.training.loop import Training
from stable_nalu.training.step import LatePenalties
from stable_nalu.training.task import Goal, Kind, Task

from .arithmetic import RestartRule, StoredData
from .depth import FORMULA_LAYERS, FormulaTask, formula_script
from .shared import OPERATIONS, SIGNS

EPOCH, SOLVED = LatePenalties.epoch, 1e-5
CHUNK, STORED = 50, 10_000
"""Batches from one look at the losses to the next, and losses at which a run may start again."""


class Data(StoredData):
    """The rows of a run, and its targets."""

    def __init__(self, config: Config):
        self.rows = two_sums(config.distribution, config.seed)
        streams: list[StoredStream] = []
        for x, sums in self.rows.parts:
            with np.errstate(divide="ignore"):
                t = OPERATIONS[config.operation](*sums)[:, None].astype(np.float32)
            streams.append(StoredStream(0, x, t, whole=True) if streams else OrderedStream(0, x, t))
        super().__init__(f"a {SIGNS[config.operation]} b", *streams)


class INALUTask(FormulaTask):
    """Learn an operation on stored rows in their order, by updates in turns, with restarts."""

    kind = Kind(penalties=LatePenalties)
    pause, dataset = CHUNK, Data
    target = Task.target

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        self.rule = RestartRule(len(self.configs), STORED, 1.0)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        return Goal(limit=Limit(SOLVED))

    @classmethod
    def sizes(cls, config: Config) -> tuple[int, int]:
        return DISTRIBUTIONS[config.distribution][0], 1

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> DrawnNetwork:
        sizes = max(config.hidden_size, 1), int(config.hidden_size > 0), *cls.sizes(config)
        means = {"W": config.mean_w, "M": config.mean_m, "G": config.mean_g}
        law = {"means": means, "deviation": config.deviation, "chunk": CHUNK}
        law["random"] = two_sums(config.distribution, config.seed).random
        return DrawnNetwork(config.layer_type, *sizes, **law, **layer_options)

    def end(self, training: Training, units: int) -> None:
        if self.config.no_restarts:
            return
        if training.engine is not None:
            training.engine.store(model_alone=True)
        self.rule.record(training.model.losses.numpy().reshape(-1, CHUNK)[:, CHUNK - units :])
        epoch = (training.at + units - 1) // EPOCH
        if epoch and epoch % 10 == 0:
            training.restart([(run, self.rule.counts[run] - 1) for run in self.rule.due()])

    def measures(self, model: Any) -> Iterator[tuple[str, torch.Tensor]]:
        yield from super().measures(model)
        yield "metric/restarts", model.starts - 1

    def get_state(self, run: int) -> dict[str, Any]:
        stream: Any = self.feed.streams[run]
        return {"next": stream.taken, **self.rule.get_state(run)}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        stream: Any = self.feed.streams[run]
        stream.taken = state["next"]
        self.rule.set_state(run, state)


# A script or a flag is a few lines of a table.
# fmt: off
_TASK = FlagGroup(
    "Task and data",
    choice("--operation", "add", "Operation on both operands.", tuple(OPERATIONS), sweep=True),
    choice("--distribution", "uniform-1", "Inputs: two, or a hundred (many-...).",
        tuple(DISTRIBUTIONS), sweep=True),
    *common.TASK.only("--batch-size", "--seed").but(batch_size={"default": 64}),
    common.MAX_ITERATIONS.but(default=100 * EPOCH - 1),
)
_NETWORK = FlagGroup(
    "Network",
    common.LAYER_TYPE.but(default="iNALU", choices=buildable_layers),
    Flag("--hidden-size", integer(0), 0, "Units of a hidden layer; 0 for a single layer."),
    *(Flag(f"--mean-{letter}", number(), mean, f"Mean of initial values of {letter.upper()}.",
        sweep=True) for letter, mean in (("w", 1.0), ("m", -1.0), ("g", 0.0))),
    Flag("--deviation", number(above=0), 0.1, "Deviation of initial values.", sweep=True),
)
_TRAINING = FlagGroup(
    "Penalty and restarts",
    Flag("--penalty-epoch", integer(0), 11, "First epoch, counted from 0, with the penalty."),
    choice("--penalty-turns", "all",
        "What an update of the penalty changes: weights or gates, which have their turn, or all.",
        ("own", "all")),
    common.switch("--no-restarts", "Never initialise a run again."),
)


def _check(c: Config) -> None:
    refuse(c.optimizer != "tf-rmsprop", "--optimizer", f"{c.optimizer} knows no turns of weights "
        "and gates, nor their penalty", "leave it out, or use tf-rmsprop")


SCRIPT = formula_script(
    "inalu", "op-{operation} {distribution}",
    _TASK, _NETWORK, *FORMULA_LAYERS, _TRAINING,
    common.OPTIMIZER.but(optimizer={"default": "tf-rmsprop"}, learning_rate={"default": 0.01},
        clip_grad_value={"default": 0.1}),
    of_data=("operation", "distribution", "mean_w", "mean_m", "mean_g", "deviation"),
    summary="Train units as in the iNALU paper: weights and gates in turns, with restarts.",
    example="--layer-type iNALU --operation mul --distribution uniform-5 --seed 100-109",
    fields=nf.all_trailing("h{hidden_size:int} w-{mean_w:float} m-{mean_m:float} g-{mean_g:float} "
        "sd-{deviation:float} pe-{penalty_epoch:int} pt-{penalty_turns:word} "
        "nr-{no_restarts:word}"),
    checks=(_check,),
)
TASK = INALUTask
