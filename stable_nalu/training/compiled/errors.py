"""Squared errors of many runs on fixed rows, by one fused kernel.

The kernel takes rows in portions of one size. A model whose numbers a compiler would change is
evaluated as it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.errors import in_words
from stable_nalu.functional.log_space import logarithm, logarithms_taken, shared_by_models

from .compiler import Compiler, Graph, batch_contiguous, compiled_by_torch
from .unroll import UnrollingError, unrolled
from .unroll.wide import WIDEST_CELLS

ROWS = 1024
"""Rows of a portion, which fill whole vectors: a processor's scalar code may round otherwise."""

Portion = Sequence[torch.Tensor]


def portions_of(x: torch.Tensor, t: torch.Tensor) -> list[Portion]:
    """Cut x `(sets, rows, in)`, t `(sets, rows, width)` into portions, filled by the last row."""
    missing = -x.shape[1] % ROWS
    filled = [torch.cat([v, v[:, -1:].expand(-1, missing, -1)], 1).split(ROWS, 1) for v in (x, t)]
    lay_out = _whole if x.shape[-1] > WIDEST_CELLS else batch_contiguous
    return [(lay_out(a), b.contiguous()) for a, b in zip(*filled, strict=True)]


def _whole(x: torch.Tensor) -> torch.Tensor:
    return shared_by_models(x.contiguous())


def _of_runs(portion: Portion, sets_of_runs: Portion) -> list[torch.Tensor]:
    """Return inputs, targets and logarithms of inputs for each run; a single set is not copied."""
    x_of_run, t_of_run = sets_of_runs
    x, t, *logarithms = portion

    def inputs(values: torch.Tensor) -> torch.Tensor:
        if len(values) == 1 and values.shape[-1] > WIDEST_CELLS:
            return values.expand(len(x_of_run), -1, -1)
        return values.index_select(0, x_of_run)

    return [inputs(x), t.index_select(0, t_of_run), *map(inputs, logarithms)]


class CompiledErrors:
    """Code for one model, compiled when it is called first; without a compiler it warns once."""

    def __init__(self, model: ExtendedTorchModule, compiler: Compiler = compiled_by_torch):
        self._model = model
        self._compiler = compiler
        self._code: dict[object, Graph] = {}
        self._works = True
        self._epsilons: Sequence[float] | None = None

    def squared(self, portion: Portion, sets_of_runs: Portion) -> torch.Tensor | None:
        """Return (model(x) - t)^2, `(runs, rows, width)`, or None to evaluate the model as it is.

        sets_of_runs: for each run the number of its set of inputs, and that of its targets.
        """
        shapes = tuple(v.shape for v in portion)
        if self._works and shapes not in self._code:
            # What draws in training mode is not to draw for a trial, too.
            states = [(generator, generator.get_state()) for generator in self._generators()]
            self._works = self._prepare(shapes, self._arguments(portion, sets_of_runs))
            for generator, state in states:
                generator.set_state(state)
        if not self._works:
            return None
        with torch.no_grad():
            (squared,) = self._code[shapes](*self._arguments(portion, sets_of_runs))
        return squared

    def _arguments(self, portion: Portion, sets_of_runs: Portion) -> list[list[torch.Tensor]]:
        parameters = [p.detach() for p in self._model.parameters()]
        return [parameters, [*portion, *self._logarithms(portion[0])], [*sets_of_runs]]

    def _generators(self) -> list[torch.Generator]:
        sources = {id(m.random): m.random for m in self._model.extended_modules()}
        return [one for s in sources.values() for one in getattr(s, "generators", ())]

    def _logarithms(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Return the logarithms of many inputs that the model takes, which are taken once."""
        if x.shape[-1] <= WIDEST_CELLS:
            return []
        if self._epsilons is None:
            with torch.no_grad():
                row = shared_by_models(
                    x[:1, :1].expand(len(next(self._model.parameters())), -1, -1)
                )
                self._model(row)
            self._epsilons = tuple(logarithms_taken(row))
        return [logarithm(x, eps) for eps in self._epsilons]

    def _prepare(self, shapes: object, arguments: list[list[torch.Tensor]]) -> bool:
        try:
            code = self._code[shapes] = self._compiler(self._recorded(*arguments))
            with torch.no_grad():
                code(*arguments)
        except UnrollingError:
            return False
        except Exception as error:  # whatever keeps torch from compiling here, the model works
            warnings.warn(f"evaluating without compiled code: {in_words(error)}", stacklevel=2)
            return False
        return True

    def _recorded(self, parameters, portion, sets_of_runs) -> torch.fx.GraphModule:
        from torch.fx.experimental.proxy_tensor import make_fx

        names = [name for name, _ in self._model.named_parameters()]

        def squared(parameters, batch):
            weights = dict(zip(names, parameters, strict=True))
            with torch.nn.utils.stateless._reparametrize_module(self._model, weights):
                x, t, *logarithms = batch
                if self._epsilons:
                    shared_by_models(x, dict(zip(self._epsilons, logarithms, strict=True)))
                return ((self._model(x) - t) ** 2,)

        batch = [values.contiguous() for values in _of_runs(portion, sets_of_runs)]
        with torch.no_grad():
            graph = make_fx(squared)(parameters, batch)
            fast = unrolled(graph, len(sets_of_runs[0]), ROWS)
            return make_fx(lambda p, b, n: fast(p, _of_runs(b, n)))(
                parameters, portion, sets_of_runs
            )
