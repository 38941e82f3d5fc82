"""The program of one model: its iteration, lowered and written as C++.

Runs share a program when they differ only in numbers that memory holds: seeds, ranges, learning
rates, weights of penalties, limits of clipping.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.tags import L1_LOSS
from stable_nalu.layer.python_state import foreign_modules
from torchlanes.emit import COSTS, Emitter, Memory, Place, named
from torchlanes.graph import BATCH, Graph, Node, Store, ordered
from torchlanes.recorded import Draw, Program, Told
from torchlanes.values import (
    LONGEST_WRITTEN,
    LongDimensionError,
    NotLoweredError,
    Tensors,
    TooManyError,
    Value,
)

from .engine_model import RecordedDraws, drawing_from, recording
from .recorder import (
    TaggedValue,
    observe_modules,
    observe_regualizers,
    scalar,
    start_trace,
    stop_trace,
)
from .step import SGD, Adam, RMSprop, TrainingStep

LONG = 30
"""From how many operations on what is computed apart for all that can share it."""

ATTEMPTS = ((LONGEST_WRITTEN, False), (math.inf, False), (8, True), (2, True))
"""Up to which extent dimensions are written out, and whether others may be cut and joined. The
first attempt that comes to an end counts: others would sum in another order."""

LIMITS = ("clip_norm", "clip_value")


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
    arguments = (step, criterion, x, t, verbose, eval_mode)
    refused: NotLoweredError | None = None
    for longest, cuts in ATTEMPTS:
        try:
            return _Builder(*arguments, longest=longest, cuts=cuts).build()
        except NotLoweredError as error:
            if not cuts:
                refused = error
                if not isinstance(error, LongDimensionError | TooManyError):
                    raise
    assert refused is not None
    raise refused


@dataclass
class _Iteration:
    """A recorded iteration, and what its outputs are after the three losses."""

    gradients_of: Sequence[str] = ()
    buffers: Sequence[str] = ()
    tags: Sequence[tuple[str, str]] = ()
    of_modules: int = 0
    """How many of the tags are of modules; those of penalties follow."""


class _Builder:
    def __init__(
        self, step, criterion, x, t, verbose, eval_mode, *, longest: float, cuts: bool = False
    ):
        self.step: TrainingStep = step
        self.model: ExtendedTorchModule = step.model
        self.criterion = criterion
        self.keys = self.step.penalties.keys()
        self.x, self.t = x, t
        self.verbose = verbose
        self.eval_mode = eval_mode
        self.graph = Graph()
        self.tensors = Tensors(self.graph, longest, cuts)
        self.memory = Memory()
        self.draws: list[Draw] = []
        self.told: list[Told] = []
        self.evaluation_draws = False
        self.recording = recording(self.model, self.x.dtype)

    def build(self) -> Program:
        state = self._state()
        clocked = self._clocked()
        inputs = {
            name: self._stored("w", f"at:{name}", value.shape)
            if name in clocked
            else self._stored("s", name, value.shape)
            for name, value in state.items()
        }
        self.draws = self._draws()
        outputs, logged = self._iteration(state, inputs)
        self.tensors.most = math.inf
        outputs, logged, of_inputs = self._apart(outputs, logged)
        stores = {"run": outputs, "log": [*outputs, *logged]}
        if of_inputs:
            stores["prepare"] = of_inputs
        if self.eval_mode is not None:
            stores["eval"] = self._evaluation(state, inputs)
        graph, memory, batch = self.graph, self.memory, len(self.x)
        parts = {
            name: Emitter(graph, own, memory, name, batch).source() for name, own in stores.items()
        }
        text = named("\n\n".join(part.text for part in parts.values()), self.memory.places)
        trained = [name for name, p in self.model.named_parameters() if name in self.trained]
        told, dtype, again = self.told, self.x.dtype, self.evaluation_draws
        found = text, memory, parts, self.draws, trained, told, dtype, again
        return Program(*found, graph, stores, batch)

    def _apart(
        self, outputs: list[Store], logged: list[Store]
    ) -> tuple[list[Store], list[Store], list[Store]]:
        """Return what is stored, and apart what takes long and follows from inputs alone.

        That is computed once for all runs of a program which have the same inputs.
        """
        of_inputs: set[Node] = set()
        after: dict[Node, Node] = {}
        apart: list[Store] = []
        for node in ordered(store.node for store in (*outputs, *logged)):
            args = [after[arg] for arg in node.args]
            after[node] = node
            if node.op == "reduce":
                after[node] = self.graph.reduce(node.name, node.axis, *args)
            elif node.op == "pick":
                after[node] = self.graph.pick(args[0], node.picked)
            elif node.op == "const" or (node.op == "load" and node.name == "x"):
                of_inputs.add(node)
            elif args and of_inputs.issuperset(node.args):
                of_inputs.add(node)
                if COSTS.get(node.op, 1) >= LONG and BATCH in node.axes:
                    index = (BATCH, *sorted(node.axes - {BATCH}))
                    name = f"of inputs:{len(apart)}"
                    self.memory.add("p", name, [self.graph.extents[axis] for axis in index])
                    apart.append(Store(name, index, node))
                    after[node] = self.graph.load(name, index)
            elif args:
                after[node] = self.graph.op(node.op, *args)
        outputs, logged = (
            [Store(s.name, s.index, after[s.node]) for s in stores] for stores in (outputs, logged)
        )
        read = {node.name for node in ordered(s.node for s in (*outputs, *logged))}
        return outputs, logged, [store for store in apart if store.name in read]

    def _state(self) -> dict[str, torch.Tensor]:
        state = dict(self.model.named_parameters()) | dict(self.model.named_buffers())
        return {
            name: value.detach().clone().requires_grad_(value.requires_grad)
            for name, value in state.items()
        }

    def _clocked(self) -> list[str]:
        """Return the parameters that a schedule sets at every iteration."""
        return [n for n, _ in self.model.named_parameters() if n.split(".")[-1] == "tau"]

    def _stored(
        self, memory: str, name: str, shape: Sequence[int], batch: int | None = None
    ) -> Value:
        self.memory.add(memory, name, shape)
        return self.tensors.stored(name, shape, batch)

    def _draws(self) -> list[Draw]:
        source = RecordedDraws()
        with drawing_from(self.model, source), torch.no_grad():
            self.criterion(self.model(self.x), self.t)
        self.step.finish(torch.zeros(()))
        return source.draws

    def _iteration(self, state, inputs) -> tuple[list[Store], list[Store]]:
        """Return what an iteration stores, and what a logged one tells besides."""
        limits = [name for name in LIMITS if getattr(self.step, f"_{name}") is not None]
        values = [
            *inputs.values(),
            self._stored("x", "x", self.x.shape, 0),
            self._stored("t", "t", self.t.shape, 0),
            *(self._noise(k, draw) for k, draw in enumerate(self.draws)),
            *(self._stored("w", f"weight:{key}", ()) for key in self.keys),
            *(self._stored("s", name, ()) for name in limits),
        ]
        recorded, found, changed = self._recorded_iteration(state, limits, values)
        losses, rest = found[:3], found[3:]
        gradients = dict(zip(recorded.gradients_of, rest, strict=False))
        rest = rest[len(gradients) :]
        after = dict(inputs) | {list(inputs)[k]: v for k, v in changed.items() if k < len(inputs)}
        after |= dict(zip(recorded.buffers, rest, strict=False))
        self.trained = set(gradients)
        moments = self._update(after, gradients)
        self._bound(after)
        after = self._after_step(state, after, losses[0])
        stores = [
            s
            for name, value in (after | moments).items()
            if value is not inputs.get(name)
            for s in self._stores(name, value)
        ]
        stores += self._outputs("criterion", losses[0]) + self._outputs("total", losses[2])
        logged = self._outputs("penalty", losses[1])
        for name, gradient in gradients.items():
            logged += self._outputs(f"gradient:{name}", gradient)
        observed = rest[len(recorded.buffers) :]
        for k, ((kind, tag), value) in enumerate(zip(recorded.tags, observed, strict=True)):
            self.told.append(Told(kind, tag, f"told:{k}", k < recorded.of_modules))
            logged += self._outputs(f"told:{k}", value)
        return stores, logged

    def _recorded_iteration(
        self, state, limits: Sequence[str], values: Sequence[Value]
    ) -> tuple[_Iteration, list[Value], dict[int, Value]]:
        step, names = self.step, [n for n, p in self.model.named_parameters() if p.requires_grad]
        result = _Iteration()

        def body(own, x, t, noise, weights, bounds):
            self._set_limits(limits, bounds)
            with drawing_from(self.model, RecordedDraws(noise)):
                start_trace(self.model)
                weighted = list(zip(self.keys, weights, strict=True))
                criterion, penalty, total = step.loss(x[0], t[0], self.criterion, weighted)
                told = observe_modules(self.model, verbose=self.verbose)
                result.of_modules = len(told)
                told += self._observed_penalties(total)
                stop_trace(self.model)
                found = step.gradients(total, [own[name] for name in names])
            held = dict(self.model.named_buffers())
            result.gradients_of = [n for n, g in zip(names, found, strict=False) if g is not None]
            result.buffers = [n for n in held if held[n] is not own[n]]
            result.tags = [(item.kind, item.tag) for item in told]
            return [
                criterion,
                torch.zeros_like(criterion) if penalty is None else penalty,
                total,
                *(g for g in found if g is not None),
                *(held[n] for n in result.buffers),
                *(item.value for item in told),
            ]

        scalar = self.x.new_ones(())
        noise = [self.x.new_full(d.shape, 0.5) for d in self.draws]
        groups = [[self.x], [self.t], noise, [scalar] * len(self.keys), [scalar] * len(limits)]
        groups = [[value.clone() for value in group] for group in groups]
        kept = [getattr(step, f"_{name}") for name in limits]
        try:
            found = self.recording.lowered(body, self.tensors, values, state, *groups)
        finally:
            self._set_limits(limits, kept)
            step.finish(torch.zeros(()))
        return result, *found

    def _set_limits(self, names: Sequence[str], bounds: Sequence[Any]) -> None:
        for name, bound in zip(names, bounds, strict=True):
            setattr(self.step, f"_{name}", bound)

    def _observed_penalties(self, total: torch.Tensor) -> list[TaggedValue]:
        if not self.verbose:
            return []
        penalties = self.step.penalties
        told = [scalar(L1_LOSS, penalties.l1())] if penalties.uses_l1 else []
        return told + observe_regualizers(self.model, torch.zeros_like(total.detach()))

    def _noise(self, number: int, draw: Draw) -> Value:
        batch = 0 if self._is_of_samples(draw) else None
        return self._stored("z", f"noise:{number}", draw.shape, batch)

    def _is_of_samples(self, drawn: Draw | torch.Tensor) -> bool:
        return drawn.shape[:1] == self.x.shape[:1] and len(drawn.shape) > 1

    def _outputs(self, name: str, value: Value) -> list[Store]:
        self.memory.add("o", name, value.shape)
        return self._stores(name, value)

    def _stores(self, name: str, value: Value) -> list[Store]:
        place = self.tensors.stored(name, value.shape, self._batch_of(value))
        value = self.tensors.typed(value, truth=False)
        spread = self.tensors.each(lambda target, node: node, place, value)
        targets = self.tensors.each(lambda target, node: target, place, value)
        pairs = zip(targets.nodes.flat, spread.nodes.flat, strict=True)
        stores = [Store(name, target.index, node) for target, node in pairs]
        if any(store.node.axes - store.axes for store in stores):
            raise NotLoweredError("a batch of one sample")
        return stores

    def _batch_of(self, value: Value) -> int | None:
        return value.axes.index(BATCH) if BATCH in value.axes else None

    def _update(self, after: dict[str, Value], gradients: Mapping[str, Value]) -> dict[str, Value]:
        """Let the optimiser update parameters in `after`; return new moments by name."""
        optimizer, each = self.step.optimizer, self._each
        moments: dict[str, Value] = {}

        def stored(name: str, slot: str) -> Value:
            return self._stored("s", f"{slot}:{name}", after[name].shape)

        rate = self._stored("w", "rate", ())
        if type(optimizer) is Adam:
            correction = self._stored("w", "correction", ())
            for name, g in gradients.items():
                m, v = (stored(name, slot) for slot in optimizer.slots)
                m = each("add", m, each("mul", each("sub", g, m), 1 - optimizer.beta_1))
                square = each("mul", each("mul", g, 1 - optimizer.beta_2), g)
                v = each("add", each("mul", v, optimizer.beta_2), square)
                root = each("add", each("div", each("sqrt", v), correction), optimizer.epsilon)
                after[name] = each("sub", after[name], each("div", each("mul", m, rate), root))
                moments |= {f"exp_avg:{name}": m, f"exp_avg_sq:{name}": v}
        elif type(optimizer) is RMSprop:
            for name, g in gradients.items():
                v = stored(name, "square_avg")
                square = each("mul", each("mul", g, 1 - optimizer.smoothing), g)
                v = each("add", each("mul", v, optimizer.smoothing), square)
                root = each("add", each("sqrt", v), optimizer.epsilon)
                after[name] = each("sub", after[name], each("div", each("mul", g, rate), root))
                moments[f"square_avg:{name}"] = v
        elif type(optimizer) is SGD:
            momentum = self._stored("s", "momentum", ())
            for name, g in gradients.items():
                b = stored(name, "momentum_buffer")
                b = each("add", each("mul", b, momentum), g)
                after[name] = each("sub", after[name], each("mul", b, rate))
                moments[f"momentum_buffer:{name}"] = b
        else:
            raise NotLoweredError(f"the optimiser {type(optimizer).__name__}")
        return moments

    def _each(self, op: str, *arguments: Any) -> Value:
        values = [a if isinstance(a, Value) else self.tensors.constant(a) for a in arguments]
        return self.tensors.each(op, *values)

    def _bound(self, after: dict[str, Value]) -> None:
        for prefix, module in self.model.named_modules():
            if not isinstance(module, ExtendedTorchModule):
                continue
            for name, (low, high) in module.parameter_bounds().items():
                full = f"{prefix}.{name}" if prefix else name
                if getattr(module, name) is not None:
                    after[full] = self._each("min", self._each("max", after[full], low), high)

    def _after_step(self, state, after: dict[str, Value], criterion: Value) -> dict[str, Value]:
        """Return the state after the layers' own changes of it."""
        buffers: list[str] = []

        def body(own, criterion):
            with torch.no_grad():
                for module in self.step._stateful:
                    module.after_step(criterion[0])
            held = dict(self.model.named_buffers())
            buffers[:] = [n for n in held if held[n] is not own[n]]
            return [criterion[0], *(held[n] for n in buffers)]

        plain = {name: value.detach() for name, value in state.items()}
        values = [*after.values(), criterion]
        one = [self.x.new_ones(())]
        found, changed = self.recording.lowered(body, self.tensors, values, plain, one)
        names = list(after)
        after = after | {names[k]: v for k, v in changed.items() if k < len(names)}
        return after | dict(zip(buffers, found[1:], strict=True))

    def _evaluation(self, state, inputs) -> list[Store]:
        """Return the squares of errors on rows, as published scripts evaluate."""
        if self.eval_mode:
            self.model.eval()
        noise = [self.x.new_full(d.shape, 0.5) for d in self.draws]
        source = RecordedDraws(noise)

        def body(own, noise, x, t):
            with drawing_from(self.model, source), self.model.no_random():
                squares = (self.model(x[0]) - t[0]) ** 2
            held = dict(self.model.named_buffers())
            if any(held[name] is not own[name] for name in buffers_of_strangers(self.model)):
                raise NotLoweredError("state that evaluation changes")
            return [squares]

        names = [f"noise:{k}" for k in range(len(self.draws))]
        values = [*inputs.values()]
        values += [self.tensors.stored(n, d.shape) for n, d in zip(names, self.draws, strict=True)]
        values += [self.tensors.stored(n, v.shape, 0) for n, v in (("x", self.x), ("t", self.t))]
        try:
            plain = {name: value.detach() for name, value in state.items()}
            with torch.no_grad():
                (squares,), changed = self.recording.lowered(
                    body, self.tensors, values, plain, noise, [self.x.clone()], [self.t.clone()]
                )
        finally:
            self.model.train()
            self.step.finish(torch.zeros(()))
        self.evaluation_draws = bool(source.draws)
        if source.draws and (source.draws != self.draws or any(map(self._is_of_samples, noise))):
            raise NotLoweredError("noise of its own in evaluation")
        if changed:
            raise NotLoweredError("state that evaluation changes")
        self.memory.places["squares"] = Place("o", 0, squares.shape, "at_squares")
        stores = self._stores("squares", squares)
        if any(n.op == "reduce" and n.axis == BATCH for n in ordered(s.node for s in stores)):
            raise NotLoweredError("an evaluation of rows that depends on other rows")
        return stores
