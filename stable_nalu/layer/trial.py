"""Try a layer that is not of this package before any run of it is trained."""

from __future__ import annotations

from collections.abc import Callable

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.ensemble import PerRunRandomSource, stack_models
from stable_nalu.errors import in_words

_RUNS, _ROWS = 2, 3
"""Sizes of what a layer is tried on; the number of rows differs from the usual widths."""

_OUTCOMES: dict[object, str | None] = {}


def obstacle(
    build: Callable[..., ExtendedTorchModule],
    in_features: int,
    out_features: int,
    options: dict[str, object],
) -> str | None:
    """Return why runs of a layer cannot be stacked, or None where they can.

    Raise ValueError, in one line, for a layer that does not work at all. Each kind of layer is
    tried once, and no random number of the caller is used up.
    """
    key = (build, in_features, out_features, repr(options), torch.get_default_dtype())
    if key not in _OUTCOMES:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            alone = [_built(build, in_features, out_features, options) for _ in range(_RUNS)]
            x = torch.rand(_RUNS, _ROWS, in_features) + 0.5
            expected = _outputs(alone, x, out_features)
            _OUTCOMES[key] = _obstacle(alone, x, expected)
    return _OUTCOMES[key]


def _built(build, in_features, out_features, options) -> ExtendedTorchModule:
    name = getattr(build, "__name__", str(build))
    try:
        layer = build(in_features, out_features, **options)
        layer.reset_parameters()
    except Exception as error:  # whatever a stranger's code raises
        raise ValueError(f"{name} cannot be built: {in_words(error)}") from None
    return layer.eval()


def _outputs(layers, x: torch.Tensor, out_features: int) -> torch.Tensor:
    name = type(layers[0]).__name__
    shape, wanted = tuple(x.shape[1:]), (_ROWS, out_features)
    try:
        outputs = [layer(one) for layer, one in zip(layers, x, strict=True)]
    except Exception as error:  # whatever a stranger's code raises
        said = in_words(error)
        raise ValueError(f"{name} fails on an input of shape {shape}: {said}") from None
    got = getattr(outputs[0], "shape", None)
    if got is None or tuple(got) != wanted:
        found = type(outputs[0]).__name__ if got is None else f"a tensor of shape {tuple(got)}"
        raise ValueError(f"{name} maps an input of shape {shape} to {found}; {wanted} is expected")
    return torch.stack(outputs)


def _obstacle(layers, x: torch.Tensor, expected: torch.Tensor) -> str | None:
    stack = stack_models(layers)
    source = PerRunRandomSource([torch.Generator() for _ in layers])
    for module in stack.extended_modules():
        module.random = source
    try:
        same = torch.allclose(stack(x), expected, rtol=1e-4, atol=1e-5, equal_nan=True)
        total = stack.train()(x).sum()
        if total.requires_grad:
            total.backward()
    except Exception as error:  # whatever vmap, or code for one run only, cannot do
        return in_words(error)
    return None if same else "its outputs are others where runs are stacked"
