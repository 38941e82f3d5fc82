"""The program of one model: its iteration, lowered and written as C++.

Runs share a program when they differ only in numbers that memory holds: seeds, ranges, learning
rates, weights of penalties, limits of clipping.
"""

import copy
import math
from collections.abc import Callable, Mapping, Sequence

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.tags import L1_LOSS
from stable_nalu.layer.python_state import foreign_modules
from torchlanes.emit import Place
from torchlanes.graph import BATCH, Store, ordered
from torchlanes.lower import Given, Scheduled
from torchlanes.recorded import Draw, Program, ProgramBuilder, Told, first_built
from torchlanes.values import NotLoweredError, Value

from .engine_model import RecordedDraws, drawing_from, recording
from .recorder import (
    TaggedValue,
    observe_regualizers,
    scalar,
    traced,
)
from .step import TrainingStep

LIMITS = ("clip_norm", "clip_value")
BUFFER = "buffer:"


def buffers_of_strangers(model: torch.nn.Module) -> set[str]:
    """Return the names of buffers of modules that are not of this package."""
    return {
        f"{path}.{name}" if path else name
        for path, module in foreign_modules(model)
        for name, _ in module.named_buffers(recurse=False)
    }


def program(
    step: TrainingStep,
    criterion: Callable[..., torch.Tensor],
    x: torch.Tensor,
    t: torch.Tensor,
    *,
    verbose: bool,
    eval_mode: bool | None,
) -> Program:
    """Return the program of a single run's step on batches like x and t.

    verbose: whether logged iterations tell all that modules do. eval_mode: of the model when it is
    evaluated; None if it is not. Raises NotLoweredError for an operation that is not known.
    """
    facts = (step, criterion, x, t, verbose, eval_mode)
    return first_built(lambda *how: _Builder(*facts, *how).build())


class _Builder(ProgramBuilder):
    def __init__(self, step, criterion, x, t, verbose, eval_mode, longest: float, cuts: bool):
        super().__init__(x.dtype, len(x), longest, cuts)
        self.step: TrainingStep = step
        self.model: ExtendedTorchModule = step.model
        self.criterion = criterion
        self.x, self.t = x, t
        self.verbose = verbose
        self.eval_mode = eval_mode
        self.trainable = [n for n, p in self.model.named_parameters() if p.requires_grad]
        self.recording = recording(self.model, x.dtype)

    def build(self) -> Program:
        self.state = self._state()
        self.draws = self._drawn()
        stores, logged = self._iteration()
        self.tensors.most = math.inf
        evaluation = None if self.eval_mode is None else self._evaluation()
        return self.program(stores, logged, evaluation)

    def _state(self) -> dict[str, tuple[torch.Tensor, Value]]:
        """Return parameters and buffers; a schedule sets some of them at each iteration."""
        found: dict[str, tuple[torch.Tensor, Value]] = {}
        for name, value in (*self.model.named_parameters(), *self.model.named_buffers()):
            is_clock = isinstance(value, torch.nn.Parameter) and name.split(".")[-1] == "tau"
            place = ("w", f"at:{name}") if is_clock else ("s", name)
            example = value.detach().clone().requires_grad_(value.requires_grad)
            found[name] = example, self.stored(*place, value.shape)
        return found

    def _drawn(self) -> list[Draw]:
        source = RecordedDraws()
        with drawing_from(self.model, source), torch.no_grad():
            self.criterion(self.model(self.x), self.t)
        self.step.finish(torch.zeros(()))
        return source.draws

    def _iteration(self) -> tuple[list[Store], list[Store]]:
        """Return what an iteration stores, and what a logged one tells besides."""
        found, changed = self._recorded_iteration()
        gradients = {n: found[f"gradient:{n}"] for n in self.trainable if f"gradient:{n}" in found}
        after = {name: changed.get(name, value) for name, (_, value) in self.state.items()}
        after = self._update(after | _buffers(found), gradients, found["criterion"])
        self.trained = list(gradients)
        stores = [
            store
            for name, value in after.items()
            if name not in self.state or value is not self.state[name][1]
            for store in self.stores(name, value)
        ]
        for name in ("criterion", "total"):
            stores += self.outputs(name, found[name])
        told = ["penalty", *(f"gradient:{n}" for n in gradients), *(one.name for one in self.told)]
        return stores, [store for name in told for store in self.outputs(name, found[name])]

    def _recorded_iteration(self) -> tuple[dict[str, Value], dict[str, Value]]:
        """Return outputs and what has changed of the state, of an iteration before its update."""
        step, one, keys = self.step, self.x.new_ones(()), self.step.penalties.keys()
        limits = {f"_{name}": getattr(step, f"_{name}") for name in LIMITS}
        limits = {name: limit for name, limit in limits.items() if limit is not None}
        noise = [self.x.new_full(d.shape, 0.5) for d in self.draws]
        self.given: Given = {
            "x": (self.x, self.stored("x", "x", self.x.shape, 0)),
            "t": (self.t, self.stored("t", "t", self.t.shape, 0)),
            **{f"noise:{k}": (value, self._noise(k, value)) for k, value in enumerate(noise)},
            **{f"weight:{k}": (one.clone(), self.stored("w", f"weight:{k}", ())) for k in keys},
            **{n[1:]: (one.clone(), self.stored("s", n[1:], ())) for n in limits},
        }

        def body(own, given):
            vars(step).update({name: given[name[1:]] for name in limits})
            with drawing_from(self.model, self._source(given)):
                weighted = [(key, given[f"weight:{key}"]) for key in keys]
                with traced(self.model, self.verbose) as observe:
                    criterion, penalty, total = step.loss(
                        given["x"], given["t"], self.criterion, weighted
                    )
                    told = observe()
                    of_modules = len(told)
                    told += self._observed_penalties(total)
                gradients = step.gradients(total, [own[name] for name in self.trainable])
            self.told = [
                Told(item.kind, item.tag, f"told:{k}", k < of_modules)
                for k, item in enumerate(told)
            ]
            pairs = zip(self.trainable, gradients, strict=False)
            return {
                "criterion": criterion,
                "penalty": torch.zeros_like(criterion) if penalty is None else penalty,
                "total": total,
                **{f"gradient:{name}": g for name, g in pairs if g is not None},
                **self._new_buffers(own),
                **{f"told:{k}": item.value for k, item in enumerate(told)},
            }

        try:
            return self.recording.lowered(body, self.tensors, self.state, _copies(self.given))
        finally:
            vars(step).update(limits)
            step.finish(torch.zeros(()))

    def _source(self, given: Mapping[str, torch.Tensor]) -> RecordedDraws:
        return RecordedDraws([given[f"noise:{k}"] for k in range(len(self.draws))])

    def _new_buffers(self, own: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        held = self.model.named_buffers()
        return {f"{BUFFER}{name}": value for name, value in held if value is not own[name]}

    def _observed_penalties(self, total: torch.Tensor) -> list[TaggedValue]:
        if not self.verbose:
            return []
        penalties = self.step.penalties
        told = [scalar(L1_LOSS, penalties.l1())] if penalties.uses_l1 else []
        return told + observe_regualizers(self.model, torch.zeros_like(total.detach()))

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
        count = len(optimizer.numbers(1, 1.0))
        numbers = [self.stored("w", f"number:{k}", ()) for k in range(count)]
        slots = {
            f"{slot}:{name}": self.stored("s", f"{slot}:{name}", after[name].shape)
            for name in gradients
            for slot in optimizer.slots
        }
        given = slots | {f"gradient:{name}": g for name, g in gradients.items()}
        given |= {"criterion": criterion}
        (one, changed), (other, _) = (
            self._updated(after, given, numbers, unit) for unit in (math.e, math.pi)
        )
        nodes = [[value.nodes.tolist() for value in found.values()] for found in (one, other)]
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
        optimizer = copy.copy(self.step.optimizer)
        optimizer.numbers = lambda *_: examples  # pyright: ignore[reportAttributeAccessIssue]
        optimizer.learning_rate, optimizer.steps = None, list(optimizer.steps)

        def body(own, given):
            optimizer.parameters = [own[name] for name in self.trainable]
            optimizer.state = {
                slot: [given.get(f"{slot}:{name}") for name in self.trainable]
                for slot in optimizer.slots
            }
            optimizer.step([given.get(f"gradient:{name}") for name in self.trainable])
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
                found, changed = self.recording.lowered(
                    body, self.tensors, state, _copies(self.given)
                )
        finally:
            self.model.train()
            self.step.finish(torch.zeros(()))
        self.evaluation_draws = bool(source.draws)
        is_other = source.draws != self.draws or any(map(self._is_of_samples, self.draws))
        if source.draws and is_other:
            raise NotLoweredError("noise of its own in evaluation")
        if changed:
            raise NotLoweredError("state that evaluation changes")
        squares = found["squares"]
        self.memory.places["squares"] = Place("o", 0, squares.shape, "at_squares")
        stores = self.stores("squares", squares)
        if any(n.op == "reduce" and n.axis == BATCH for n in ordered(s.node for s in stores)):
            raise NotLoweredError("an evaluation of rows that depends on other rows")
        return stores


def _buffers(found: Mapping[str, Value]) -> dict[str, Value]:
    """Return new values of buffers by their names."""
    return {name[len(BUFFER) :]: v for name, v in found.items() if name.startswith(BUFFER)}


def _copies(given: Given) -> Given:
    return {name: (example.clone(), value) for name, (example, value) in given.items()}
