"""Many models of one structure, trained at once by an optimiser of torch."""

import copy
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch

from .lower import Recording
from .recorded import Program, ProgramBuilder, first_built
from .tiles import Lanes, in_order, runtime
from .values import NotLoweredError, Value

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
MakeOptimizer = Callable[[list[torch.nn.Parameter]], torch.optim.Optimizer]
State = dict[str, torch.Tensor]
"""Tensors `(models, ...)` by their names: parameters, buffers, and what an optimiser keeps."""

AT_ONCE = 1 << 24
"""Numbers of the samples that are laid out for steps to come."""
PROOF_STEPS, TOLERANCE = 3, {torch.float32: 1e-5, torch.float64: 1e-11}


class Trainer:
    """Trains models of one structure, each as if it were alone.

    models: modules that differ in numbers of parameters and buffers only. loss: of outputs and
    targets, one number. optimizer: makes an optimiser of torch for a list of parameters. `losses`
    are from the last step.
    """

    def __init__(self, models: Iterable[torch.nn.Module], loss: Loss, optimizer: MakeOptimizer):
        self.models, self.loss, self.optimizer = list(models), loss, optimizer
        shapes = [{n: (v.shape, v.dtype) for n, v in _named(m).items()} for m in self.models]
        if not shapes or not shapes[0] or any(own != shapes[0] for own in shapes):
            raise ValueError("models of one structure are needed, one at least")
        self.dtype = next(self.models[0].parameters()).dtype
        self.losses = torch.full((len(self.models),), math.nan, dtype=self.dtype)
        self._kept = _kept(self)[1]
        self._random: list[np.random.Generator] = []
        self._programs: dict[object, Program] = {}

    def fit(
        self,
        x: torch.Tensor,
        y: torch.Tensor,
        steps: int,
        batch: int | None = None,
        seeds: Iterable[int] | None = None,
    ) -> None:
        """Train on rows x `(rows, inputs)` and y, or on rows for each model `(models, rows, ...)`.

        batch: rows of a step, which each model draws by its own seed; else a step has all rows. A
        further call goes on. Raises NotLoweredError if a step cannot be recorded, or differs from
        torch's.
        """
        count = len(self.models)
        x, y = (torch.as_tensor(values).to(self.dtype) for values in (x, y))
        if x.ndim == 2:
            x, y = (values.expand(count, *values.shape) for values in (x, y))
        if x.ndim != 3 or x.shape[:2] != y.shape[:2] or len(x) != count:
            raise ValueError(f"x {tuple(x.shape)} and y {tuple(y.shape)} are no rows of each model")
        if batch is not None and not self._random:
            own = list(range(count) if seeds is None else seeds)
            if len(own) != count:
                raise ValueError(f"{len(own)} seeds for {count} models: give each its own")
            self._random = [np.random.default_rng(seed) for seed in own]
        program = self._program(x[:2], y[:2], batch or x.shape[1])
        size = count * (batch or x.shape[1]) * x.shape[2]
        state = _stacked(self.models) | self._kept
        while steps > 0:
            some, given = steps, [values.numpy()[None] for values in (x, y)]
            if batch is not None:
                some = min(steps, max(1, AT_ONCE // size))
                rows = [r.integers(x.shape[1], size=(some, batch)) for r in self._random]
                models = np.arange(count)[:, None]
                given = [values[0][models, np.stack(rows, 1)] for values in given]
            state, self.losses = _trained(program, state, *given, some)
            steps -= some
        self._put(state)

    def state_dict(self) -> dict[str, Any]:
        """Return all that training goes on from."""
        random = [generator.bit_generator.state for generator in self._random]
        return {"state": _stacked(self.models) | self._kept, "random": random}

    def load_state_dict(self, held: Mapping[str, Any]) -> None:
        """Go on from what another trainer of such models has come to."""
        self._random = [np.random.default_rng() for _ in held["random"]]
        for generator, state in zip(self._random, held["random"], strict=True):
            generator.bit_generator.state = state
        self._put(held["state"])

    def _put(self, state: State) -> None:
        self._kept = {name: state[name] for name in self._kept}
        for number, model in enumerate(self.models):
            for name, own in _named(model).items():
                own.data.copy_(state[name][number])

    def _program(self, x: torch.Tensor, y: torch.Tensor, batch: int) -> Program:
        """Return the program of a step on rows of some models, which is compared with torch."""
        key = batch, x.shape[2:], y.shape[2:]
        if key not in self._programs:
            rows = torch.arange(batch) % x.shape[1]
            program = recorded(self, x[0, rows], y[0, rows])
            self._prove(program, x[:, rows], y[:, rows])
            self._programs[key] = program
        return self._programs[key]

    def _prove(self, program: Program, x: torch.Tensor, y: torch.Tensor) -> None:
        """Compare some steps with torch's, in its own precision and in float64."""
        few = Trainer(copy.deepcopy(self.models[: len(x)]), self.loss, self.optimizer)
        state = _stacked(few.models) | few._kept
        actual, _ = _trained(program, state, x.numpy()[None], y.numpy()[None], PROOF_STEPS)
        for number, model in enumerate(few.models):
            own, exact = model, copy.deepcopy(model).double()
            for one, kind in ((own, self.dtype), (exact, torch.float64)):
                optimizer = self.optimizer(list(one.parameters()))
                for _ in range(PROOF_STEPS):
                    optimizer.zero_grad()
                    self.loss(one(x[number].to(kind)), y[number].to(kind)).backward()
                    optimizer.step()
            for name, value in _named(own).items():
                true = _named(exact)[name].detach()
                error = 10 * (value.detach() - true).abs()
                bound = TOLERANCE[self.dtype] * (1 + true.abs()) + error
                if not bool(((actual[name][number] - true).abs() <= bound).all()):
                    raise NotLoweredError(f"a step whose {name} differs from torch's")


def explain(
    model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, loss: Loss, optimizer: MakeOptimizer
) -> str:
    """Return the C++ of a step on rows x and y, or what of it cannot be recorded, and where."""
    try:
        return recorded(Trainer([model], loss, optimizer), x, y).text
    except NotLoweredError as error:
        return f"not recorded: {error}"


def recorded(trainer: Trainer, x: torch.Tensor, y: torch.Tensor) -> Program:
    """Return the program of a step on batches like x and y."""
    return first_built(lambda *how: _Builder(trainer, x, y, *how).build())


class _Builder(ProgramBuilder):
    def __init__(self, trainer: Trainer, x: torch.Tensor, y: torch.Tensor, *how: Any):
        super().__init__(x.dtype, len(x), *how)
        self.trainer, self.x, self.y = trainer, x, y
        self.model = copy.deepcopy(trainer.models[0])
        self.trained = [n for n, p in self.model.named_parameters() if p.requires_grad]
        self.recording = Recording(self.model, x.dtype)

    def build(self) -> Program:
        named = _named(self.model).items()
        state = {n: (v.detach().clone(), self.stored("s", n, v.shape)) for n, v in named}
        for name in self.trained:
            state[name][0].requires_grad_()
        given = {
            "x": (self.x.clone(), self.stored("x", "x", self.x.shape, 0)),
            "y": (self.y.clone(), self.stored("t", "t", self.y.shape, 0)),
        }
        outputs, changed = self.recording.lowered(self._gradients, self.tensors, state, given)
        after = {n: changed.get(n, outputs.get(n, value)) for n, (_, value) in state.items()}
        after |= self._update(after, outputs)
        stores = self.outputs("loss", outputs["loss"])
        stores += [store for name, value in after.items() for store in self.stores(name, value)]
        return self.program(stores, [], None)

    def _gradients(self, own, given) -> dict[str, torch.Tensor]:
        loss = self.trainer.loss(self.model(given["x"]), given["y"])
        parameters = [own[name] for name in self.trained]
        gradients = torch.autograd.grad(loss, parameters, materialize_grads=True)
        named = {f"gradient:{n}": g for n, g in zip(self.trained, gradients, strict=True)}
        return {"loss": loss, **named, **dict(self.model.named_buffers())}

    def _update(self, after: Mapping[str, Value], outputs: Mapping[str, Value]) -> dict[str, Value]:
        """Return parameters and what the optimiser keeps after its own step."""
        optimizer, kept = _kept(self.trainer)
        names = {id(p): n for n, p in self.trainer.models[0].named_parameters()}
        groups = [[names[id(p)] for p in group["params"]] for group in optimizer.param_groups]

        def step(own, given):
            for group, members in zip(optimizer.param_groups, groups, strict=True):
                group["params"] = [own[name] for name in members]
                group |= {"differentiable": True, "foreach": False}  # its counter is a tensor
            optimizer.state.clear()
            for name, parameter in own.items():
                parameter.grad = given[f"gradient:{name}"]
                slots = (key.partition(":")[0] for key in kept if key.partition(":")[2] == name)
                optimizer.state[parameter] = {slot: given[f"{slot}:{name}"] for slot in slots}
            optimizer.step()
            return own | {name: given[name] for name in kept}

        values = {f"gradient:{name}": outputs[f"gradient:{name}"] for name in self.trained}
        values |= {name: self.stored("s", name, v.shape[1:]) for name, v in kept.items()}
        given = {name: (self.x.new_ones(value.shape), value) for name, value in values.items()}
        state = {n: (self.x.new_ones(after[n].shape), after[n]) for n in self.trained}
        return self.recording.lowered(step, self.tensors, state, given)[0]


def _named(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return dict((*model.named_parameters(), *model.named_buffers()))


def _stacked(models: list[torch.nn.Module]) -> State:
    every = [_named(model) for model in models]
    return {name: torch.stack([own[name].detach() for own in every]) for name in every[0]}


def _kept(trainer: Trainer) -> tuple[torch.optim.Optimizer, State]:
    """Return the first model's optimiser, and the optimiser state of all models before a step.

    Names are such as `exp_avg:weight`.
    """
    parameters = {n: p for n, p in trainer.models[0].named_parameters() if p.requires_grad}
    copies = [torch.nn.Parameter(p.detach().clone()) for p in parameters.values()]
    tried = trainer.optimizer(copies)
    before = copy.deepcopy([tried.state.get(parameter, {}) for parameter in copies])
    for parameter in copies:
        parameter.grad = torch.zeros_like(parameter)
    tried.step()
    kept: State = {}
    for name, parameter, start in zip(parameters, copies, before, strict=True):
        for slot, value in tried.state.get(parameter, {}).items():
            if value is not None:
                first = torch.as_tensor(start.get(slot, torch.zeros_like(value))).to(trainer.dtype)
                kept[f"{slot}:{name}"] = first.repeat(len(trainer.models), *[1] * first.ndim)
    return trainer.optimizer(list(parameters.values())), kept


def _trained(
    program: Program, state: State, x: np.ndarray, y: np.ndarray, steps: int
) -> tuple[State, torch.Tensor]:
    """Return the state and losses after steps on x `(steps or 1, models, batch, inputs)` and y."""
    width = runtime(double=program.dtype == torch.float64).lanes()
    lanes = Lanes(program, in_order(x.shape[1], width), x.shape[2:])
    for name, values in state.items():
        lanes.put(name, values)
    lanes.iterate(lanes.members({}, None, steps, "run"), x, y.reshape(*y.shape[:3], -1), steps)
    return {name: lanes.get(name) for name in state}, lanes.get("loss")
