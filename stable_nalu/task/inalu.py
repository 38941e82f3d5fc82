"""The tasks of the iNALU paper: one unit of two inputs, or two layers of a hundred.

Data are drawn as in the paper's code, by NumPy from the seed: 64,000 rows of training, then rows of
interpolation and of extrapolation, all values of a matrix shuffled; then the initial weights, which
are normal. With two inputs the target is an operation on both. Of a hundred, each is in the first
sum, in the second, in none (probabilities 1/2, 1/4, 1/4); there the paper draws data before it sets
its seed, and tests here have 10,000 rows.

Batches come in one order, 1,000 of them an epoch, which is never shuffled. Of ten steps the first
eight update weights, the last two gates. From epoch 11 on, counted from 0, an update that pushes
them away from 0 follows each batch whose loss is below 1. In epochs 10, 20, ... a run whose
loss does not fall starts again from uniform values within 2 of 0, by the same generator.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from stable_nalu.dataset.distribution import quantile_function
from stable_nalu.dataset.simple_function import StoredStream
from stable_nalu.network.dense import IdentityNetwork
from stable_nalu.options import Config, Flag, FlagGroup
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import buildable_layers, choice, integer, number
from stable_nalu.options.flags import refuse
from stable_nalu.statistics.setups import Limit
from stable_nalu.training.loop import Training
from stable_nalu.training.step import INALU_WEIGHT, Optimizer, Penalties, TFRMSprop
from stable_nalu.training.task import Drawn, Goal, Kind, Shape, Task

from .arithmetic import TEST_SEED, VALIDATION_SEED, script
from .depth import FORMULA_CHECKS, FORMULA_LAYERS, FORMULA_NAME, FormulaTask, formula_files
from .shared import OPERATIONS, SIGNS, lower

ROWS, FEW, EPOCH, OF_DATA = 64_000, 10_000, 1000, 2**31
SOLVED, SATURATED = 1e-5, 20.0
CHUNK, STORED = 50, 10_000
"""Batches from one look at the losses to the next, and losses at which a run may start again."""
DISTRIBUTIONS: dict[str, tuple[int, tuple[Any, ...], tuple[Any, ...]]] = {
    "exponential-0.2": (2, ("exponential", 0.2), ("exponential", 0.5)),
    "exponential-0.8": (2, ("exponential", 0.8), ("exponential", 0.5)),
    "normal-centred": (2, ("normal", -3, 3), ("normal", 8, 10)),
    "normal-above": (2, ("normal", -2, 4), ("normal", 8, 10)),
    "normal-below": (2, ("normal", -4, 2), ("normal", 8, 10)),
    "uniform-1": (2, ("uniform", -1, 1), ("uniform", -10, -5)),
    "uniform-5": (2, ("uniform", -5, 5), ("uniform", -10, -5)),
    "many-uniform": (100, ("uniform", -3, 3), ("uniform", -5, -3)),
    "many-normal": (100, ("normal", -3, 3), ("normal", 3, 4)),
    "many-start": (100, ("normal", -2, 2, 0, 1), ("normal", 2, 18, 10, 1)),
}
"""Name -> inputs, the law of training and interpolation, the law of extrapolation."""


def _drawn(random: np.random.RandomState, law: tuple[Any, ...], rows: int, inputs: int) -> Any:
    """Draw values of a law, and shuffle all of them; a normal one is cut at 3 deviations or so."""
    family, *numbers = law
    if family == "exponential":
        x = random.exponential(numbers[0], (rows, inputs))
    else:
        low, high, *shape = numbers
        x = random.uniform(*((low, high) if family == "uniform" else (0, 1)), (rows, inputs))
        if family == "normal":
            x = quantile_function(low, high, *(shape or ((low + high) / 2, (high - low) / 6)))(x)
    flat = x.reshape(-1)
    random.shuffle(flat)
    return flat.reshape(x.shape)


class Rows:
    """The data of a distribution and a seed: inputs, and both operands, of each part.

    state: of the generator that draws the initial weights.
    """

    def __init__(self, name: str, seed: int):
        self.inputs, *laws = DISTRIBUTIONS[name]
        many = self.inputs > 2
        random = np.random.RandomState((seed + OF_DATA * many) % 2**32)
        chosen = np.round(random.uniform(0, 2, self.inputs)) - 1 if many else np.arange(2)
        self.parts: dict[int | None, tuple[np.ndarray, np.ndarray]] = {}
        for key, law in zip((None, VALIDATION_SEED, TEST_SEED), (laws[0], *laws), strict=True):
            x = _drawn(random, law, FEW if many and key else ROWS, self.inputs)
            sums = [x[:, chosen == k].sum(-1) for k in range(2)]
            self.parts[key] = x.astype(np.float32), np.stack(sums)
        self.state = np.random.RandomState(seed).get_state() if many else random.get_state()


_rows = lru_cache(maxsize=128)(Rows)


class _Whole(StoredStream):
    """Stored rows, of which every access by a slice returns all."""

    def __getitem__(self, rows: slice) -> tuple[torch.Tensor, torch.Tensor]:
        return super().__getitem__(slice(None))


class Data:
    """The rows of a run, and its targets."""

    def __init__(self, config: Config):
        self.rows, self._config = _rows(config.distribution, config.seed), config

    def get_input_size(self) -> int:
        return self.rows.inputs

    def print_operation(self) -> str:
        return f"a {SIGNS[self._config.operation]} b"

    def fork(self, sample_range: Any, seed: int | None = None, **_: Any) -> StoredStream:
        """Return the rows of training or, by their seeds, of interpolation or extrapolation."""
        x, (a, b) = self.rows.parts[seed]
        with np.errstate(divide="ignore"):
            t = OPERATIONS[self._config.operation](a, b)
        return _Whole(0, x, t[:, None].astype(np.float32))


class LatePenalties(Penalties):
    """No penalty in the loss; instead, updates of their own, which push parameters away from 0."""

    def _build_factors(self) -> list[Any]:
        return []

    def set_up(self, optimizer: Optimizer, names: Sequence[str]) -> None:
        """Let weights and gates take turns of 8 and 2 steps, and have a penalty."""
        assert isinstance(optimizer, TFRMSprop)
        optimizer.turns = 8, 2
        optimizer.groups = [int(name.split(".")[-1][0] in "gG") for name in names]
        config = self._configs[0]
        optimizer.late, optimizer.late_from = _pull, config.penalty_epoch * EPOCH
        optimizer.late_always = config.penalty_turns == "all"


def _pull(parameter: torch.Tensor) -> torch.Tensor:
    """Return the gradient of the mean of max(20 - |v|, 0), times 0.05."""
    inside = (parameter.abs() < SATURATED).to(parameter.dtype)
    return torch.sign(parameter) * inside * (-INALU_WEIGHT / parameter.numel())


Law = Callable[[str, tuple[int, ...]], np.ndarray]
"""Draws values of a shape for a parameter, by its letter: W, M or G."""


class Network(IdentityNetwork):
    """The units of a run. losses: of the last batches."""

    def __init__(self, *sizes: Any, **layer_options: Any):
        super().__init__(*sizes, **layer_options)
        self.register_buffer("losses", torch.zeros(CHUNK))

    def after_step(self, loss: torch.Tensor) -> None:
        self.losses = torch.cat([self.losses[1:], loss.reshape(1)])

    @torch.no_grad()
    def draw(self, law: Law) -> None:
        """Draw values of each layer: all W and M in their order, then G."""
        for layer in self.layers:
            own = dict(layer.named_parameters())
            for name in sorted(own, key=lambda name: name.split(".")[-1][0] in "gG"):
                letter, stored = name.split(".")[-1][0].upper(), own[name]
                # Stored (in, out) or, by NALUs, (out, in): drawn (in, out).
                turned = stored.ndim > 1 and not name.endswith(("_a_hat", "_m_hat"))
                shape = tuple(stored.mT.shape if turned else stored.shape)
                values = torch.from_numpy(law(letter, shape).astype(np.float32))
                stored.copy_(values.mT if turned else values)


class INALUTask(FormulaTask):
    """Learn an operation on stored rows in their order, by updates in turns, with restarts."""

    kind = Kind(penalties=LatePenalties)
    pause = CHUNK
    target = Task.target

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        streams: list[Any] = self.feed.streams
        # Runs that differ in their operation alone have equal inputs.
        places = {id(stream.x): stream.x for stream in streams}
        # Those of the first batches follow on the last.
        rows = np.arange(ROWS + CHUNK * config.batch_size) % ROWS
        self._x = np.stack([x[rows] for x in places.values()])
        self._x_of = np.array([list(places).index(id(stream.x)) for stream in streams])
        self._t = np.stack([stream.t[rows] for stream in streams])
        self._next = np.zeros(len(streams), np.int64)
        self._losses = np.zeros((len(streams), config.max_iterations + 2), np.float32)
        self._stored = np.zeros(len(streams), np.int64)
        self.restarts = np.zeros(len(streams), np.int64)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        return Goal(limit=Limit(SOLVED))

    @classmethod
    def dataset(cls, config: Config) -> Data:
        return Data(config)

    @classmethod
    def shape(cls, config: Config) -> Shape:
        inputs = DISTRIBUTIONS[config.distribution][0]
        how = {"verbose": config.verbose, "penalties": LatePenalties}
        return Shape(config.batch_size, inputs, 1, cls.eval_mode, **how)

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> Network:
        inputs = DISTRIBUTIONS[config.distribution][0]
        sizes = max(config.hidden_size, 1), int(config.hidden_size > 0), inputs
        return Network(config.layer_type, *sizes, **layer_options)

    def initialized(self, config: Config, layer_options: dict[str, Any]) -> Network:
        return self._drawn(config, layer_options)

    def _drawn(self, config: Config, layer_options: dict[str, Any], restarts: int = 0) -> Network:
        """Draw the weights of a run by its generator, again as often as it restarts."""
        model, random = self.network(config, layer_options), np.random.RandomState()
        random.set_state(_rows(config.distribution, config.seed).state)
        means = {letter: getattr(config, f"mean_{letter.lower()}") for letter in "WMG"}
        model.draw(lambda letter, shape: random.normal(means[letter], config.deviation, shape))
        for _ in range(restarts):
            model.draw(lambda letter, shape: random.uniform(-2, 2, shape))
        return model

    def samples(self) -> tuple[Sequence[Any], Drawn]:
        return self.feed.streams, self._draw

    def _draw(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        size = self.config.batch_size
        start = int(self._next[runs[0]]) * size % ROWS
        self._next[runs] += count
        rows = slice(start, start + count * size)
        x, t = self._x[:, rows][self._x_of[runs]], self._t[:, rows][runs]
        return tuple(v.reshape(len(runs), count, size, -1).swapaxes(0, 1) for v in (x, t))

    def batches(self) -> Iterator[Any]:
        own = torch.get_default_dtype()
        yield tuple(torch.from_numpy(v[0, 0]).to(own) for v in self._draw([0], 1))

    def end(self, training: Training, units: int) -> None:
        if training.engine is not None:
            training.engine.store(model_alone=True)
        last = training.model.losses.numpy().reshape(-1, CHUNK)[:, CHUNK - units :]
        for losses, start, own in zip(self._losses, self._stored, last, strict=True):
            losses[start : start + units] = own
        self._stored += units
        epoch = (training.at + units - 1) // EPOCH
        if epoch and epoch % 10 == 0 and not self.config.no_restarts:
            due = [run for run in np.flatnonzero(self._stored > STORED) if self._stuck(run)]
            self._stored[due] = 0
            self.restarts[due] += 1
            training.restart([(int(run), int(self.restarts[run]) - 1) for run in due])
            for run in due:
                self._redraw(training, int(run))

    @torch.no_grad()
    def _redraw(self, training: Training, run: int) -> None:
        """Give a run that starts again the values of its generator."""
        own, options = training.model.state_dict(), training.stack[run].layer_options
        fresh = self._drawn(self.configs[run], options, int(self.restarts[run]))
        for name, value in fresh.named_parameters():
            (own[name] if self.engine is None else own[name][run]).copy_(value)

    def _stuck(self, run: int) -> bool:
        """Return whether the losses of a run are high, and have not fallen."""
        older, newer = np.split(self._losses[run, : self._stored[run]], [self._stored[run] // 2])
        with np.errstate(over="ignore", invalid="ignore"):
            mean = newer.mean()
            return bool(mean > 1 and older.mean() <= mean + newer.std())

    def measures(self, model: Any) -> Iterator[tuple[str, torch.Tensor]]:
        yield from super().measures(model)
        counts = torch.from_numpy(self.restarts.astype(np.float32))
        yield "metric/restarts", counts if self.engine is not None else counts[0]

    def get_state(self, run: int) -> dict[str, Any]:
        stored = torch.from_numpy(self._losses[run, : self._stored[run]].copy())
        return {"next": int(self._next[run]), "losses": stored, "restarts": int(self.restarts[run])}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        self._next[run], self.restarts[run] = state["next"], state["restarts"]
        self._stored[run] = len(state["losses"])
        self._losses[run, : self._stored[run]] = state["losses"].numpy()


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


SCRIPT = script(
    name="inalu", drawn_by=(),
    of_data=("operation", "distribution", "mean_w", "mean_m", "mean_g", "deviation"),
    summary="Train units as in the iNALU paper: weights and gates in turns, with restarts.",
    example="--layer-type iNALU --operation mul --distribution uniform-5 --seed 100-109",
    groups=(_TASK, _NETWORK, *FORMULA_LAYERS, _TRAINING,
        common.OPTIMIZER.but(optimizer={"default": "tf-rmsprop"}, learning_rate={"default": 0.01},
            clip_grad_value={"default": 0.1}),
        *formula_files("inalu")),
    name_fields=(
        lower("layer_type"), nf.template("op-{operation}"), nf.template("{distribution}"),
        nf.BATCH_SIZE, nf.SEED, nf.RATE,
        *nf.all_trailing("h{hidden_size:int} w-{mean_w:float} m-{mean_m:float} g-{mean_g:float} "
            "sd-{deviation:float} pe-{penalty_epoch:int} pt-{penalty_turns:word} "
            "nr-{no_restarts:word}"),
        *FORMULA_NAME,
    ),
    checks=(*FORMULA_CHECKS, _check),
)
TASK = INALUTask
