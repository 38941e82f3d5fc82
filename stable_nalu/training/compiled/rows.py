"""Iterations on thousands of fixed rows, one run after another through the same compiled code.

So many rows fill the processor's nearest cache, and a stack of them overflows it: runs are faster
in turn, and each has the numbers that it has alone. What depends on the rows and on no weight is
computed once. Rows lie next to each other in memory, so that matrix products read them in vectors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx.graph import CodeGen

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.abstract.random_source import RandomSource
from stable_nalu.errors import in_words

from ..step.step import StepResult, TrainingStep
from .columns import in_columns
from .compiler import Compiler, Graph, compiled_by_torch
from .step import CompiledStep, drawing_from
from .unroll import UnrollingError

Values = Sequence[torch.Tensor]


class RunsInTurn:
    """Iterations of a step on rows x `(*runs, rows, in)`, t `(*runs, rows, out)` that never change.

    One run's loss and gradients are recorded from the code that trains without compilation;
    `compiler` makes fast code of them. Where that fails it warns once and runs the plain step, as
    it does while a penalty is in force.
    """

    def __init__(
        self,
        step: TrainingStep,
        x: torch.Tensor,
        t: torch.Tensor,
        compiler: Compiler = compiled_by_torch,
    ):
        self.step = step
        self._x, self._t = x, t
        self._compiler = compiler
        self._code: Graph | None = None
        self._arguments: list[list[Values]] = []
        self._updated: list[int] = []
        self._works = True

    @staticmethod
    def supports(model: ExtendedTorchModule) -> bool:
        """Return whether training is a pure function of trainable parameters and rows."""
        return CompiledStep.supports(model)

    def run(self, schedule: tuple) -> StepResult:
        """Make one iteration by what `prepare` of the step gave."""
        criterion, weights = schedule
        if not weights and self._works and self._code is None:
            self._works = self._prepare(criterion)
        if weights or not self._works:
            return self.step.run_prepared(schedule, self._x, self._t)
        assert self._code is not None
        with torch.no_grad():
            results = [self._code(*arguments) for arguments in self._arguments]
        error, *present = (
            map(torch.stack, zip(*results, strict=True)) if self.step.run_dims else results[0]
        )
        found: list[torch.Tensor | None] = [None] * len(self.step.parameters)
        for k, gradient in zip(self._updated, present, strict=True):
            found[k] = gradient
        gradients = self.step.clipped(found)
        self.step.update(gradients, error)
        return StepResult(error, None, error, gradients)

    def _prepare(self, criterion: Callable) -> bool:
        """Record and compile one run's iteration; return whether that worked."""
        runs = len(self._x) if self.step.run_dims else 1
        try:
            # Views, which follow the updates.
            weights = [
                [p.detach() for p in self._of_run(self.step.parameters, r)] for r in range(runs)
            ]
            columns = [self._columns_of_run(r) for r in range(runs)]
            once, always = split_by_rows(
                self._recorded(criterion, weights[0], columns[0]), len(weights[0])
            )
            with torch.no_grad():
                fixed = [once(*of_run) for of_run in columns]
                self._arguments = [list(pair) for pair in zip(weights, fixed, strict=True)]
                self._code = self._compiler(always)
                self._code(*self._arguments[0])
        except UnrollingError:
            return False
        except Exception as error:  # whatever keeps torch from compiling here, plain steps work
            warnings.warn(f"training without compiled code: {in_words(error)}", stacklevel=2)
            return False
        finally:
            # Recording leaves traced inputs in the layers that keep them for a penalty.
            self.step.finish(torch.zeros(()))
        return True

    def _of_run(self, values: Sequence[Any], run: int) -> list[Any]:
        return [value[run] for value in values] if self.step.run_dims else list(values)

    def _columns_of_run(self, run: int) -> list[torch.Tensor]:
        return [values.mT.contiguous() for values in self._of_run((self._x, self._t), run)]

    def _recorded(
        self, criterion: Callable, weights: Values, columns: Values
    ) -> torch.fx.GraphModule:
        """Return the graph of one run's loss and gradients, and note which parameters have one."""
        from torch.fx.experimental.proxy_tensor import make_fx

        step = self.step
        names = [name for name, p in step.model.named_parameters() if p.requires_grad]

        def iteration(weights, rows):
            with (
                torch.nn.utils.stateless._reparametrize_module(
                    step.model, dict(zip(names, weights, strict=True))
                ),
                drawing_from(step.model, _NoRandom()),
            ):
                x, target = rows
                error, _, _ = step.loss(x, target, criterion, [])
                gradients = torch.autograd.grad(error, weights, allow_unused=True)
            self._updated = [k for k, gradient in enumerate(gradients) if gradient is not None]
            return (error, *(gradients[k] for k in self._updated))

        examples = [w.clone().requires_grad_() for w in weights]
        recorded = make_fx(iteration)(examples, [values.mT for values in columns])
        recorded.graph.set_codegen(CodeGen())
        recorded.recompile()
        with torch.no_grad():
            return make_fx(in_columns(recorded))([w.clone() for w in weights], list(columns))


class _NoRandom(RandomSource):
    """A source for models that draw nothing."""

    def fill(self, shape, like, draw):
        raise UnrollingError("noise")


def split_by_rows(
    recorded: torch.fx.GraphModule, weights: int
) -> tuple[torch.fx.GraphModule, torch.fx.GraphModule]:
    """Cut a graph of `weights` weights and of rows into what needs rows alone, and the rest.

    The first part maps rows to the values that the second one takes after the weights.
    """
    once, always = torch.fx.Graph(), torch.fx.Graph()
    early: dict[torch.fx.Node, torch.fx.Node] = {}
    late: dict[torch.fx.Node, torch.fx.Node] = {}
    placeholders = [node for node in recorded.graph.nodes if node.op == "placeholder"]
    for node in recorded.graph.nodes:
        sources = node.all_input_nodes
        if node in placeholders[weights:] or (sources and all(s in early for s in sources)):
            early[node] = once.node_copy(node, early.__getitem__)
        _refuse(node)
    needed = {s for n in recorded.graph.nodes if n not in early for s in n.all_input_nodes}
    handed = [node for node in early if node in needed]
    for node in placeholders[:weights]:
        late[node] = always.placeholder(node.name)
    for node in handed:
        late[node] = always.placeholder(f"of_rows_{node.name}")
    for node in recorded.graph.nodes:
        if node not in early and node not in late:
            late[node] = always.node_copy(node, late.__getitem__)
    once.output(tuple(early[node] for node in handed))
    return torch.fx.GraphModule(recorded, once), torch.fx.GraphModule(recorded, always)


def _refuse(node: torch.fx.Node) -> None:
    """Refuse what a recording does not repeat.

    That is what changes a value in place, draws random numbers, or multiplies: torch chooses the
    gradient of a product by the zeros among its factors.
    """
    target = node.target
    if isinstance(target, torch._ops.OpOverload) and (
        target._schema.is_mutable
        or torch.Tag.nondeterministic_seeded in target.tags
        or target._schema.name == "aten::prod"
    ):
        raise UnrollingError(f"operation {target}")
