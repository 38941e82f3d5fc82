"""A layer around any torch module that maps (batch, in) to (batch, out).

The module is written as anyone writes one: its constructor draws its initial parameters, and its
forward pass has no run dimensions. `torch.func.vmap` trains many runs of it as one.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any, ClassVar

import torch
from torch.func import functional_call, vmap

from stable_nalu.abstract import Observation, weight_observations

from .base import Layer
from .registry import OF_EVERY_LAYER


class PlainLayer(Layer):
    """Holds a module of the class `Module`, given its sizes and its own options.

    Shapes: x (*runs, batch, in), y (*runs, batch, out), at most one run dimension. Parameters are
    those of the module, and lead with the run dimension where runs are stacked.
    """

    Module: ClassVar[type[torch.nn.Module]]

    default_name = "plain"

    def __init__(
        self, in_features: int, out_features: int, *, name: str | None = None, **options: Any
    ):
        super().__init__(in_features, out_features, name=name)
        self._build = partial(self.Module, in_features, out_features, **options)
        self.module = self._build()
        self._ndim = next((p.ndim for p in self.module.parameters()), 0)

    def reset_parameters(self) -> None:
        """Take over the parameters of a module that is built anew: its constructor draws them."""
        self.module.load_state_dict(self._build().state_dict())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.module(x) if x.ndim < 3 else over_runs(self.module, x)

    def observations(self) -> list[Observation]:
        """Return the sparsity error that the module tells, or else what its weight matrix shows."""
        if callable(getattr(self.module, "sparsity_error", None)):
            return [Observation("scalar", "W/sparsity_error", self._sparsity_error, False)]
        own = dict(self.module.named_parameters(recurse=False))
        matrices = [name for name in ("W", "weight") if name in own and own[name].ndim >= 2]
        if not matrices:
            return []
        return weight_observations("W", lambda: getattr(self.module, matrices[0]))

    @torch.no_grad()
    def _sparsity_error(self) -> torch.Tensor:
        """Return what the module's own method tells, for every run."""
        method = _SparsityError(self.module)
        like = next(self.module.parameters(), torch.empty(()))
        if like.ndim == self._ndim:
            return torch.as_tensor(method(), dtype=like.dtype)
        state = method.state_dict()
        runs = [{name: value[run] for name, value in state.items()} for run in range(len(like))]
        told = [torch.as_tensor(functional_call(method, one, ()), dtype=like.dtype) for one in runs]
        return torch.stack(told)


class _SparsityError(torch.nn.Module):
    """The method of that name as a forward pass, which `functional_call` gives other parameters."""

    def __init__(self, module: torch.nn.Module):
        super().__init__()
        self.module = module

    def forward(self) -> Any:
        return self.module.sparsity_error()  # pyright: ignore[reportCallIssue]


def over_runs(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Map x `(runs, batch, in)` by a module whose parameters and buffers lead with runs."""

    def one_run(parameters, buffers, x):
        return functional_call(module, (parameters, buffers), (x,))

    return vmap(one_run)(dict(module.named_parameters()), dict(module.named_buffers()), x)


def plain_layer(module: type[torch.nn.Module]) -> type[PlainLayer]:
    """Return the layer that holds modules of a class; its options are those of the constructor."""

    def construct(self, in_features, out_features, **options):
        PlainLayer.__init__(self, in_features, out_features, **options)

    head = list(inspect.signature(PlainLayer.__init__).parameters.values())[:-1]
    options = [p.replace(kind=p.KEYWORD_ONLY) for p in options_of(module)]
    vars(construct)["__signature__"] = inspect.Signature([*head, *options])
    body = {"Module": module, "__init__": construct, "__doc__": module.__doc__}
    return type(module.__name__, (PlainLayer,), body | {"__module__": module.__module__})


def options_of(module: type[torch.nn.Module]) -> list[inspect.Parameter]:
    """Return the parameters of a constructor behind the two sizes; raise TypeError without them."""
    signature = inspect.signature(module)
    signature.bind(1, 1)
    _, _, *options = signature.parameters.values()
    named = [p for p in options if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return [p for p in named if p.name not in OF_EVERY_LAYER]
