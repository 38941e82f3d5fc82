"""The program of one model: its iteration, lowered and written as C++.

Runs share a program when they differ only in numbers that memory holds: seeds, ranges, learning
rates, weights of penalties, limits of clipping.
"""

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import Bound, ExtendedTorchModule, RandomSource, scaled
from stable_nalu.functional import product
from stable_nalu.layer.base import foreign_modules
from stable_nalu.options import Config
from stable_nalu.writer.event_file import L1_LOSS
from torchlanes.emit import Place
from torchlanes.graph import BATCH, Store, ordered
from torchlanes.lower import Given, RecordableProduct, Recording, Scheduled
from torchlanes.recorded import Draw, Logged, Program, ProgramBuilder, first_built
from torchlanes.values import NotLoweredError, Value

from .recorder import LogRecord, observe_regualizers, traced
from .step import TrainingStep

BUFFER = "buffer:"
NUMBERS = {
    *("seed", "learning_rate", "momentum", "interpolation_range", "extrapolation_range"),
    *(f"regualizer_{name}" for name in ("scaling_start", "scaling_end", "beta_step")),
    *(f"regualizer_beta_{name}" for name in ("start", "end", "growth")),
    *("max_iterations", "name_prefix", "id"),
}
"""Flags that change numbers in memory, or nothing that is computed."""
WEIGHTS = {"regualizer", "regualizer_oob"}
"""Flags of which the program only depends on whether they are zero."""

BuildOne = Callable[[Config], ExtendedTorchModule]


def seeded(config: Config, build: BuildOne, seed: int) -> ExtendedTorchModule:
    """Return the initial model of a seed. The caller's generators do not move."""
    before = np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        np.random.seed(seed % 2**32)
        try:
            model = build(config)
            model.reset_parameters()
        finally:
            np.random.set_state(before)
    return model


def structure(config: Config) -> str:
    """Return what is equal for runs of equal programs: all that is not a number in their memory."""
    numbers = NUMBERS.union(config.spec.of_data)
    held = {name: value for name, value in config.as_dict().items() if name not in numbers}
    switches = [name for name in held if name.startswith("clip_grad") or name in WEIGHTS]
    return repr(held | {name: held[name] not in (None, 0) for name in switches})


def buffers_of_strangers(model: torch.nn.Module) -> set[str]:
    return {
        f"{path}.{name}" if path else name
        for path, module in foreign_modules(model)
        for name, _ in module.named_buffers(recurse=False)
    }


class RecordedDraws(RandomSource):
    """A source that hands out noise that was drawn before, and notes which noise was asked for."""

    def __init__(self, noise: Sequence[torch.Tensor] = ()):
        self.noise = noise
        self.draws: list[Draw] = []

    def _next(self, draw: Draw, like: torch.Tensor) -> torch.Tensor:
        self.draws.append(draw)
        place = len(self.draws) - 1
        return self.noise[place] if place < len(self.noise) else like.new_full(draw.shape, 0.5)

    def uniform(
        self, shape: tuple[int, ...], low: Bound, high: Bound, like: torch.Tensor
    ) -> torch.Tensor:
        if isinstance(low, torch.Tensor) or isinstance(high, torch.Tensor):
            return scaled(self._next(Draw("uniform", tuple(shape)), like), low, high, len(shape))
        return self._next(Draw("uniform", tuple(shape), (float(low), float(high))), like)

    def exponential(self, shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
        return self._next(Draw("exponential", tuple(shape)), like)

    def normal(self, shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
        return self._next(Draw("normal", tuple(shape)), like)


@contextmanager
def drawing_from(model: ExtendedTorchModule, source: RandomSource) -> Iterator[None]:
    before = [(module, module.random) for module in model.extended_modules()]
    for module, _ in before:
        module.random = source
    try:
        yield
    finally:
        for module, own in before:
            module.random = own


def program(
    step: TrainingStep,
    criterion: Callable[..., torch.Tensor],
    x: torch.Tensor,
    t: torch.Tensor,
    *how: Any,
) -> Program:
    """Return the program of a single run's step on batches like x and t.

    how: whether logged iterations tell all that modules do, and the mode of the model when it is
    evaluated; None if it is not. Raises NotLoweredError for an operation that is not known.
    """
    return first_built(lambda *limits: _Builder(step, criterion, x, t, *how, *limits).build())


class _Builder(ProgramBuilder):
    def __init__(self, step, criterion, x, t, verbose, eval_mode, longest: float, cuts: bool):
        super().__init__(x.dtype, len(x), longest, cuts)
        self.step: TrainingStep = step
        self.model = self.step.model
        self.criterion = criterion
        self.x, self.t = x, t
        self.verbose, self.eval_mode = verbose, eval_mode
        products = {product: lambda factors: RecordableProduct.apply(factors, -2)}
        self.recording = Recording(self.model, x.dtype, products)

    def build(self) -> Program:
        self.state = self._state()
        source = RecordedDraws()
        with drawing_from(self.model, source), torch.no_grad():
            self.criterion(self.model(self.x), self.t)
        self.step.finish(torch.zeros(()))
        self.draws = source.draws
        stores, logged = self._iteration()
        self.tensors.most = math.inf
        evaluation = None if self.eval_mode is None else self._evaluation()
        return self.program(stores, logged, evaluation)

    def _state(self) -> dict[str, tuple[torch.Tensor, Value]]:
        """Return parameters and buffers; a schedule sets some of them at each iteration."""
        state: dict[str, tuple[torch.Tensor, Value]] = {}
        for name, value in (*self.model.named_parameters(), *self.model.named_buffers()):
            is_clock = isinstance(value, torch.nn.Parameter) and name.split(".")[-1] == "tau"
            place = ("w", f"at:{name}") if is_clock else ("s", name)
            example = value.detach().clone().requires_grad_(value.requires_grad)
            state[name] = example, self.stored(*place, value.shape)
        return state

    def _iteration(self) -> tuple[list[Store], list[Store]]:
        """Return what an iteration stores, and what a logged one tells besides."""
        outputs, changed = self._recorded_iteration()
        names = self.step.trainable
        gradients = {n: outputs[f"gradient:{n}"] for n in names if f"gradient:{n}" in outputs}
        after = {name: changed.get(name, value) for name, (_, value) in self.state.items()}
        after = self._update(after | _buffers(outputs), gradients, outputs["criterion"])
        self.trained = list(gradients)
        stores = [
            store
            for name, value in after.items()
            if name not in self.state or value is not self.state[name][1]
            for store in self.stores(name, value)
        ]
        for name in ("criterion", "total"):
            stores += self.outputs(name, outputs[name])
        logged = [
            "penalty",
            *(f"gradient:{n}" for n in gradients),
            *(one.name for one in self.logged),
        ]
        return stores, [store for name in logged for store in self.outputs(name, outputs[name])]

    def _recorded_iteration(self) -> tuple[dict[str, Value], dict[str, Value]]:
        """Return outputs and what has changed of the state, of an iteration before its update."""
        step, penalties, one = self.step, self.step.penalties, self.x.new_ones(())
        limits, keys = step.limits, penalties.keys()
        noise = [self.x.new_full(d.shape, 0.5) for d in self.draws]
        self.given: Given = {
            "x": (self.x, self.stored("x", "x", self.x.shape, 0)),
            "t": (self.t, self.stored("t", "t", self.t.shape, 0)),
            **{f"noise:{k}": (value, self._noise(k, value)) for k, value in enumerate(noise)},
            **{f"weight:{k}": (one.clone(), self.stored("w", f"weight:{k}", ())) for k in keys},
            **{name: (one.clone(), self.stored("s", name, ())) for name in limits},
        }

        def body(own, given):
            step.limits = {name: given[name] for name in limits}
            with drawing_from(self.model, self._source(given)):
                weighted = [(key, given[f"weight:{key}"]) for key in keys]
                with traced(self.model, self.verbose) as observe:
                    rows = given["x"], given["t"]
                    criterion, penalty, total = step.loss(*rows, self.criterion, weighted)
                    logged = observe()
                    of_modules = len(logged)
                    if self.verbose:
                        logged += [LogRecord(L1_LOSS, penalties.l1())] if penalties.uses_l1 else []
                        logged += observe_regualizers(self.model, torch.zeros_like(total.detach()))
                gradients = step.gradients(total, [own[name] for name in step.trainable])
            numbered = enumerate(logged)
            self.logged = [
                Logged(o.kind, o.tag, f"logged:{k}", k < of_modules) for k, o in numbered
            ]
            pairs = zip(step.trainable, gradients, strict=False)
            return {
                "criterion": criterion,
                "penalty": torch.zeros_like(criterion) if penalty is None else penalty,
                "total": total,
                **{f"gradient:{name}": g for name, g in pairs if g is not None},
                **self._new_buffers(own),
                **{f"logged:{k}": item.value for k, item in enumerate(logged)},
            }

        try:
            return self.recording.lowered(body, self.tensors, self.state, _copies(self.given))
        finally:
            step.limits = limits
            step.finish(torch.zeros(()))

    def _source(self, given: Mapping[str, torch.Tensor]) -> RecordedDraws:
        return RecordedDraws([given[f"noise:{k}"] for k in range(len(self.draws))])

    def _new_buffers(self, own: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        held = self.model.named_buffers()
        return {f"{BUFFER}{name}": value for name, value in held if value is not own[name]}

    def _noise(self, number: int, example: torch.Tensor) -> Value:
        batch = 0 if self._is_of_samples(example) else None
        return self.stored("z", f"noise:{number}", example.shape, batch)

    def _is_of_samples(self, drawn: Draw | torch.Tensor) -> bool:
        return drawn.shape[:1] == self.x.shape[:1] and len(drawn.shape) > 1

    def _update(
        self, after: dict[str, Value], gradients: Mapping[str, Value], criterion: Value
    ) -> dict[str, Value]:
        """Return the state, moments included, after the optimiser's step and what follows it."""
        optimizer = self.step.optimizer
        if optimizer.obstacle or optimizer.own_rates:
            raise NotLoweredError(optimizer.obstacle or "a layer with learning rates of its own")
        count = len(optimizer.numbers(1, 1.0))
        numbers = [self.stored("w", f"number:{k}", ()) for k in range(count)]
        slots = {
            f"{slot}:{name}": self.stored("s", f"{slot}:{name}", after[name].shape)
            for name in gradients
            for slot in optimizer.slots
        }
        given = slots | {f"gradient:{name}": g for name, g in gradients.items()}
        given |= {"criterion": criterion}
        one, changed = self._updated(after, given, numbers, math.e)
        other, _ = self._updated(after, given, numbers, math.pi)
        nodes = [[value.nodes.tolist() for value in values.values()] for values in (one, other)]
        if nodes[0] != nodes[1]:
            raise NotLoweredError("an optimiser that computes with its scheduled numbers")
        before = after | slots
        return before | {n: v for n, v in changed.items() if n in before} | _buffers(one)

    def _updated(
        self,
        after: Mapping[str, Value],
        given: Mapping[str, Value],
        numbers: Sequence[Value],
        unit: float,
    ) -> tuple[dict[str, Value], dict[str, Value]]:
        """Record an update in which powers of a unit are examples of the scheduled numbers.

        Return all that is given and new buffers as they are after it, and what has changed.
        """
        examples = [Scheduled(unit ** (k + 1)) for k in range(len(numbers))]
        names, optimizer = self.step.trainable, copy.copy(self.step.optimizer)
        optimizer.numbers = lambda *_: examples  # pyright: ignore[reportAttributeAccessIssue]
        optimizer.learning_rate, optimizer.steps = None, list(optimizer.steps)

        def body(own, given):
            optimizer.parameters = [own[name] for name in names]
            optimizer.state = {
                slot: [given.get(f"{slot}:{name}") for name in names] for slot in optimizer.slots
            }
            optimizer.step([given.get(f"gradient:{name}") for name in names])
            optimizer.follow(given["criterion"])
            self.step.finish(given["criterion"])
            return own | given | self._new_buffers(own)

        state = {name: (e.detach(), after[name]) for name, (e, _) in self.state.items()}
        return self.recording.lowered(
            body,
            self.tensors,
            _copies(state),
            {name: (self.x.new_ones(value.shape), value) for name, value in given.items()},
            scheduled=dict(zip(map(float, examples), numbers, strict=True)),
        )

    def _evaluation(self) -> list[Store]:
        """Return the squares of errors on rows, as published scripts evaluate."""
        if self.eval_mode:
            self.model.eval()
        source = RecordedDraws()

        def body(own, given):
            source.noise = self._source(given).noise
            with drawing_from(self.model, source), self.model.no_random():
                squares = (self.model(given["x"]) - given["t"]) ** 2
            held = dict(self.model.named_buffers())
            if any(held[name] is not own[name] for name in buffers_of_strangers(self.model)):
                raise NotLoweredError("state that evaluation changes")
            return {"squares": squares}

        state = {name: (example.detach(), value) for name, (example, value) in self.state.items()}
        try:
            with torch.no_grad():
                given = _copies(self.given)
                outputs, changed = self.recording.lowered(body, self.tensors, state, given)
        finally:
            self.model.train()
            self.step.finish(torch.zeros(()))
        self.evaluation_draws = bool(source.draws)
        is_other = source.draws != self.draws or any(map(self._is_of_samples, self.draws))
        if source.draws and is_other:
            raise NotLoweredError("noise of its own in evaluation")
        if changed:
            raise NotLoweredError("state that evaluation changes")
        squares = outputs["squares"]
        self.memory.places["squares"] = Place("o", 0, squares.shape, "at_squares")
        stores = self.stores("squares", squares)
        if any(n.op == "reduce" and n.axis == BATCH for n in ordered(s.node for s in stores)):
            raise NotLoweredError("an evaluation of rows that depends on other rows")
        return stores


def _buffers(outputs: Mapping[str, Value]) -> dict[str, Value]:
    return {name[len(BUFFER) :]: v for name, v in outputs.items() if name.startswith(BUFFER)}


def _copies(given: Given) -> Given:
    return {name: (example.clone(), value) for name, (example, value) in given.items()}
