"""What formulas and start values in tests of layers are made of."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch

X = torch.tensor([[1.5, -2.0], [0.5, 3.0]])
IN, OUT = 4, 3
PHI = (1 + math.sqrt(5)) / 2


def sigmoid(v: float, base: float = math.e) -> float:
    """1 / (1 + b^-v)."""
    return 1 / (1 + base**-v)


def softmax(values: list[float]) -> list[float]:
    """Shares in proportion to exponentials."""
    exponentials = [math.exp(v) for v in values]
    return [e / sum(exponentials) for e in exponentials]


def dot(row: Iterable[float], W: Iterable[float]) -> float:
    """The weighted sum of a row."""
    return sum(v * w for v, w in zip(row, W, strict=True))


def product(row: Iterable[float], W: Iterable[float]) -> float:
    """The product of a row in which a weight of 0 leaves a factor out."""
    return math.prod(w * v + 1 - w for v, w in zip(row, W, strict=True))


def nac_weights(nac: Any, o: int) -> list[float]:
    """tanh(W_hat) sigmoid(M_hat) of one output, to the base of the layer."""
    base = PHI if nac.nac_weight == "golden-ratio" else math.e
    squashed = (2 * sigmoid(2 * w, base) - 1 for w in nac.W_hat[o].tolist())
    gates = (sigmoid(m, base) for m in nac.M_hat[o].tolist())
    return [s * g for s, g in zip(squashed, gates, strict=True)]


def clamped(weights: list[float], low: float, high: float) -> list[float]:
    """Each weight, or the end of the range that is next to it."""
    return [min(max(w, low), high) for w in weights]


def uniform(low: float, high: float, *shape: int) -> torch.Tensor:
    """One fill of a tensor, by default of a weight from IN to OUT."""
    return torch.empty(shape or (OUT, IN)).uniform_(low, high)


def with_parameters(
    layer_class: Any, parameters: dict[str, Any], inputs: int = 2, **options
) -> Any:
    """A layer to one output with given parameters."""
    layer = layer_class(inputs, 1, **options)
    for name, value in parameters.items():
        layer.get_parameter(name).data = torch.tensor(value)
    return layer


def randomised(layer: Any, low: float, high: float) -> Any:
    """The layer in float64, all parameters drawn from U(low, high)."""
    layer = layer.double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.uniform_(low, high)
    return layer


def draws(function: Callable[[], object]) -> bool:
    """Whether a call takes numbers from the global generator."""
    state = torch.get_rng_state()
    function()
    return not torch.equal(state, torch.get_rng_state())


def drawn_alike(function: Callable[[], Any], other: Callable[[], Any]) -> tuple[Any, Any]:
    """What both give from one state of the global generator, which they leave in one state, too."""
    values, states = [], []
    for call in (function, other):
        torch.manual_seed(4)
        values.append(call())
        states.append(torch.get_rng_state())
    assert torch.equal(*states)
    return values[0], values[1]
