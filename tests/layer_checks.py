"""What tests of single layers share: published values, loops over runs, observed values."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from stable_nalu.abstract import ExtendedTorchModule, stack_models

from .runs import normal

X = torch.tensor([[1.5, -2.0], [0.5, 3.0]])
PUBLISHED_DIGITS = 5e-6


def build_published(layer_class: type, **options) -> ExtendedTorchModule:
    """Two inputs and one output, seed 0, initialised once more, as the published scripts do."""
    torch.manual_seed(0)
    layer = layer_class(2, 1, **options)
    layer.reset_parameters()
    return layer


def assert_published(
    layer: ExtendedTorchModule,
    *,
    parameters: dict[str, list[float]],
    train: list[float],
    evaluation: list[float] | None = None,
    penalties: dict[str, float],
    x: torch.Tensor = X,
) -> None:
    """Parameters, outputs in both modes and penalties, to the digits that are published."""
    actual = {name: p.flatten().tolist() for name, p in layer.named_parameters()}
    assert actual.keys() == parameters.keys()
    for name, values in parameters.items():
        assert actual[name] == pytest.approx(values, rel=PUBLISHED_DIGITS)
    assert layer(x).flatten().tolist() == pytest.approx(train, rel=PUBLISHED_DIGITS)
    assert {k: v.item() for k, v in layer.regualizer().items()} == pytest.approx(
        penalties, rel=PUBLISHED_DIGITS
    )
    layer.eval()
    expected = train if evaluation is None else evaluation
    assert layer(x).flatten().tolist() == pytest.approx(expected, rel=PUBLISHED_DIGITS)


def assert_equals_loop(
    layer: ExtendedTorchModule, formula: Callable[[list[float], int], float], x: torch.Tensor
) -> None:
    """`formula(row, output)` in Python floats gives every output of the layer in float64."""
    y = layer(x)
    assert y.dtype == torch.float64
    for row, outputs in zip(x.tolist(), y.tolist(), strict=True):
        for o, output in enumerate(outputs):
            assert output == pytest.approx(formula(row, o), rel=1e-9, abs=1e-12)


def randomised(layer: ExtendedTorchModule, low: float, high: float) -> ExtendedTorchModule:
    """The layer in float64, all parameters drawn from U(low, high)."""
    layer = layer.double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.uniform_(low, high)
    return layer


def stacked(build: Callable[[], ExtendedTorchModule], runs: tuple[int, ...], low=0.1, high=0.9):
    """(stacked layer, the single layers of all runs in order), with different parameters."""
    count = torch.Size(runs).numel()
    singles = [randomised(build(), low, high) for _ in range(count)]
    states = [single.state_dict() for single in singles]
    layers = [build().double() for _ in range(count)]
    for layer, state in zip(layers, states, strict=True):
        layer.load_state_dict(state)
    for width in reversed(runs):
        layers = [stack_models(layers[i : i + width]) for i in range(0, len(layers), width)]
    return layers[0], singles


def assert_runs_equal_singles(
    build: Callable[[], ExtendedTorchModule], runs: tuple[int, ...], *, signed: bool = True
) -> None:
    """Outputs, penalties and clipped parameters of stacked runs are those of single layers."""
    layer, singles = stacked(build, runs)
    x = normal(*runs, 4, 3) * 2
    x = x if signed else x.abs()
    y, penalties = layer(x), layer.regualizer()
    layer.optimize(torch.zeros(runs))
    values = dict(layer.named_parameters())
    for run, (single, x_of_run) in enumerate(zip(singles, x.reshape(-1, 4, 3), strict=True)):
        torch.testing.assert_close(y.reshape(-1, *y.shape[-2:])[run], single(x_of_run))
        expected = single.regualizer()
        assert penalties.keys() == expected.keys()
        for key, value in penalties.items():
            torch.testing.assert_close(value.flatten()[run], expected[key])
        single.optimize(torch.tensor(0.0))
        for name, parameter in single.named_parameters():
            assert torch.equal(values[name].flatten(0, len(runs) - 1)[run], parameter)


def observed(
    layer: ExtendedTorchModule, x: torch.Tensor = X
) -> dict[tuple[str, str], tuple[torch.Tensor, bool]]:
    """(kind, name) -> (value, verbose_only) of the layer itself after a forward pass on x."""
    layer.trace = {}
    layer(x)
    return {(o.kind, o.name): (o.value(), o.verbose_only) for o in layer.observations()}


def gates(layer: ExtendedTorchModule, x: torch.Tensor = X) -> dict[str, str]:
    """How each observed value is logged: `kind name` -> always or verbose."""
    return {
        f"{kind} {name}": "verbose" if verbose_only else "always"
        for (kind, name), (_, verbose_only) in observed(layer, x).items()
    }
