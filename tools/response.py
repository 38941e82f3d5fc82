"""What a layer of two inputs computes with the best whole weights, and at its start: a small plot.

The weights are found by trying -1, 0 and 1 for every element, then values that saturate squashed
weights, all as runs of one layer.
"""

import itertools
from collections.abc import Callable, Iterable
from html import escape
from types import SimpleNamespace
from typing import Any

import torch
from matplotlib.figure import Figure

from stable_nalu.layer.registry import LayerEntry

from .drawing import clipped_svg

SECOND = 2.0
"""The other input of the plot."""
SEEDS = 3
_SATURATED = 20.0
_MOST = 20_000
"""The number of combinations of weights above which none is tried."""
OPERATIONS: dict[str, tuple[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]]] = {
    "x + a": ("#0072B2", torch.add),
    "x − a": ("#009E73", torch.sub),
    "x · a": ("#D55E00", torch.mul),
    "a / x": ("#CC79A7", lambda x, a: a / x),
}
"""Operation -> its colour, legible on white and on black, and its function."""
_POSITIVE = torch.cartesian_prod(torch.linspace(0.5, 4, 8), torch.linspace(0.75, 3.5, 6))
_SIGNED = torch.cat([_POSITIVE * torch.tensor(s) for s in ([1, 1], [1, -1], [-1, 1], [-1, -1])])
_TOLERANCE = 1e-5
_FAR = 1e3
_TOP = 8


def response(entry: LayerEntry) -> SimpleNamespace | None:
    """Return the plot of a layer, as `svg`, and the operations that it computes; None for a cell.

    always, positive: those for all inputs, and for positive ones only. tried: whether ideal weights
    were.
    """
    if entry.layer is None:
        return None
    found = _found(entry)
    x = torch.linspace(-4, 4, 320)  # Without 0, where a quotient has a pole.
    rows = torch.stack([x, torch.full_like(x, SECOND)], -1)
    starts = []
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        starts.append(_evaluated(_built(entry), rows))
    known = found or {}
    curves = {name: _evaluated(layer, rows) for name, (layer, _) in known.items()}
    always = [name for name, (_, is_right) in known.items() if is_right]
    positive = [name for name in known if name not in always]
    of = {"tried": found is not None, "always": always, "positive": positive}
    return SimpleNamespace(svg=_drawn(rows, starts, curves, entry.label), **of)


def _built(entry: LayerEntry) -> Any:
    layer = entry.module(2, 1, **entry.fixed_options)
    getattr(layer, "reset_parameters", lambda: None)()
    return layer.eval()


def _evaluated(layer: Any, rows: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return layer(rows)[..., 0]


Found = dict[str, tuple[Callable[..., Any], bool]]
"""Operation -> the layer with weights that compute it, and whether for negative inputs, too."""


def _found(entry: LayerEntry) -> Found | None:
    """Return the operations that some weights compute; None where they cannot be tried."""
    layer = _built(entry)
    once, again = _evaluated(layer, _SIGNED), _evaluated(layer, _SIGNED)
    if not torch.allclose(once, again, equal_nan=True):
        return None  # It draws random numbers in evaluation, too.
    names = [name for name, _ in layer.named_parameters()]
    count = 3 ** sum(parameter.numel() for parameter in layer.parameters())
    if not names or count > _MOST:
        return None
    found: Found = {}
    alike = [(size,) * len(names) for size in (1.0, _SATURATED)]
    mixed = itertools.product((1.0, _SATURATED), repeat=len(names)) if count < 1000 else ()
    for sizes in (*alike, *mixed):
        stacked = _combinations(layer, sizes)
        try:
            outputs = _evaluated(_with(layer, stacked), _SIGNED.expand(count, *_SIGNED.shape))
        except (RuntimeError, ValueError):  # It has no leading dimension of runs.
            return None
        for name, (_, function) in OPERATIONS.items():
            target = function(*_SIGNED.T)
            wrong = (outputs - target).abs() / (1 + target.abs())
            wrong = wrong.nan_to_num(torch.inf).clamp(max=_FAR)
            on_positive = wrong[:, : len(_POSITIVE)].amax(-1)
            # Of weights that are right for positive inputs, the best for all.
            best = int((wrong.mean(-1) + 2 * _FAR * (on_positive > _TOLERANCE)).argmin())
            is_right = bool(wrong[best].max() <= _TOLERANCE)
            if on_positive[best] <= _TOLERANCE and (name not in found or is_right):
                values = {key: value[best] for key, value in stacked.items()}
                found[name] = (_with(layer, values), is_right)
        if len(found) == len(OPERATIONS) and all(is_right for _, is_right in found.values()):
            break
    return found


def _with(layer: Any, values: dict[str, torch.Tensor]) -> Callable[..., Any]:
    return lambda rows: torch.func.functional_call(layer, values, (rows,))


def _combinations(layer: Any, sizes: Iterable[float]) -> dict[str, torch.Tensor]:
    """Return all signs of weights of these sizes, and zeros, as those of many runs in bounds."""
    parameters = dict(layer.named_parameters())
    counts = [parameter.numel() for parameter in parameters.values()]
    rows = torch.tensor(list(itertools.product((0.0, 1.0, -1.0), repeat=sum(counts))))
    bounds = layer.parameter_bounds() if hasattr(layer, "parameter_bounds") else ()
    limits = {id(parameter): (low, high) for parameter, low, high in bounds}
    found: dict[str, torch.Tensor] = {}
    parts = zip(parameters.items(), rows.split(counts, -1), sizes, strict=True)
    for (name, parameter), part, size in parts:
        values = size * part.reshape(-1, *parameter.shape)
        found[name] = values.clamp(*limits.get(id(parameter), (-torch.inf, torch.inf)))
    return found


def _drawn(
    rows: torch.Tensor, starts: list[torch.Tensor], curves: dict[str, torch.Tensor], label: str
) -> str:
    def draw(values: torch.Tensor, **look: Any) -> None:
        axes.plot(rows[:, 0], values.where(values.abs() < 3 * _TOP, torch.nan), **look)

    figure = Figure(figsize=(4.8, 3.4), layout="constrained")
    axes = figure.add_subplot()
    ink = {"color": "black", "linewidth": 0.6}
    for place, start in enumerate(starts):
        draw(start, label="" if place else "start weights (3 seeds)", alpha=0.6, **ink)
    for name, curve in curves.items():
        color, function = OPERATIONS[name]
        draw(function(*rows.T), color=color, linewidth=5, alpha=0.25)
        draw(curve, color=color, label=name)
    axes.set(xlim=(-4, 4), ylim=(-_TOP, _TOP), xlabel="x", ylabel=f"output, a = {SECOND:g}")
    axes.axhline(0, alpha=0.4, **ink)
    axes.axvline(0, alpha=0.4, **ink)
    axes.spines[["top", "right"]].set_visible(False)
    for part in (figure, axes):
        part.patch.set_visible(False)
    figure.legend(loc="outside upper left", ncols=3, frameon=False)
    about = f'<svg class="response" role="img" aria-label="Output of {escape(label)} against x"'
    svg = clipped_svg(figure).replace("<svg", about, 1)
    return svg.replace("#000000", "currentColor").strip()
