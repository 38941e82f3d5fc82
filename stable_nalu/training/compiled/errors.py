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

from .compiler import Compiler, Graph, batch_contiguous, compiled_by_torch
from .unroll import UnrollingError, unrolled

ROWS = 1024
"""Rows of a portion, which fill whole vectors: a processor's scalar code may round otherwise."""

Portion = Sequence[torch.Tensor]


def portions_of(x: torch.Tensor, t: torch.Tensor) -> list[Portion]:
    """Cut x `(sets, rows, in)`, t `(sets, rows, width)` into portions, filled by the last row."""
    missing = -x.shape[1] % ROWS
    filled = [torch.cat([v, v[:, -1:].expand(-1, missing, -1)], 1).split(ROWS, 1) for v in (x, t)]
    return [(batch_contiguous(a), b.contiguous()) for a, b in zip(*filled, strict=True)]


class CompiledErrors:
    """Code for one model, compiled when it is called first; without a compiler it warns once."""

    def __init__(self, model: ExtendedTorchModule, compiler: Compiler = compiled_by_torch):
        self._model = model
        self._compiler = compiler
        self._code: dict[object, Graph] = {}
        self._works = True

    def squared(self, portion: Portion, sets_of_runs: Portion) -> torch.Tensor | None:
        """Return (model(x) - t)^2, `(runs, rows, width)`, or None to evaluate the model as it is.

        sets_of_runs: for each run the number of its set of inputs, and that of its targets.
        """
        parameters = [p.detach() for p in self._model.parameters()]
        arguments = [parameters, [*portion], [*sets_of_runs]]
        shapes = tuple(v.shape for v in portion)
        if self._works and shapes not in self._code:
            self._works = self._prepare(shapes, arguments)
        if not self._works:
            return None
        with torch.no_grad():
            (squared,) = self._code[shapes](*arguments)
        return squared

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

        def of_runs(portion, sets_of_runs):
            pairs = zip(portion, sets_of_runs, strict=True)
            return [values.index_select(0, numbers) for values, numbers in pairs]

        names = [name for name, _ in self._model.named_parameters()]

        def squared(parameters, batch):
            weights = dict(zip(names, parameters, strict=True))
            with torch.nn.utils.stateless._reparametrize_module(self._model, weights):
                x, t = batch
                return ((self._model(x) - t) ** 2,)

        batch = [values.contiguous() for values in of_runs(portion, sets_of_runs)]
        with torch.no_grad():
            graph = make_fx(squared)(parameters, batch)
            fast = unrolled(graph, len(sets_of_runs[0]), ROWS)
            return make_fx(lambda p, b, n: fast(p, of_runs(b, n)))(
                parameters, portion, sets_of_runs
            )
