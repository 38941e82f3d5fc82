"""What is asked of every layer of the package; a subclass of `LayerChecks` says what is its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
import torch

from stable_nalu.abstract import ExtendedTorchModule, stack_models
from stable_nalu.layer.registry import option_parameters

from .runs import RUNS, normal

X = torch.tensor([[1.5, -2.0], [0.5, 3.0]])
PUBLISHED_DIGITS = 5e-6
IN, OUT = 4, 3
PENALTIES_AND_RANGES = {
    "nac_oob": "clip",
    "npu_clip": "wg",
    "regualizer_z": 1,
    "regualizer_gate": 1,
    "regualizer_npu_w": 1,
}

Rows = list[list[float]]


@dataclass(frozen=True)
class Published:
    """What the published code gives for seed 0, two inputs and one output, to its digits."""

    parameters: dict[str, list[float]]
    train: list[float]
    evaluation: list[float] | None = None
    penalties: dict[str, float] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    x: torch.Tensor = X


@dataclass(frozen=True)
class Penalised:
    """Penalties of given parameters, behind a pass of x."""

    options: dict[str, Any]
    parameters: dict[str, Any]
    penalties: dict[str, float]
    x: torch.Tensor | None = None


@dataclass(frozen=True)
class Clipped:
    """Parameters before and after a step."""

    options: dict[str, Any]
    before: dict[str, Any]
    after: dict[str, Any]


class LayerChecks:
    """A subclass names its layer and writes the formula of the docstring in Python floats."""

    layer: ClassVar[Any]
    options: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    """Options that the formula is compared with."""
    weights: ClassVar[tuple[float, float]] = (-1.5, 1.5)
    """Range of parameters that it is compared with."""
    positive: ClassVar[bool] = False
    """Whether its inputs have to be positive."""
    published: ClassVar[tuple[Published, ...]] = ()
    penalised: ClassVar[tuple[Penalised, ...]] = ()
    clipped: ClassVar[tuple[Clipped, ...]] = ()
    start_options: ClassVar[tuple[dict[str, Any], ...]] = ({},)

    def formula(self, layer: Any, row: list[float], o: int) -> float:
        """Return one output of one row."""
        raise NotImplementedError

    def start(self, **options: Any) -> Iterator[tuple[str, torch.Tensor]]:
        """Draw the start values from IN to OUT, in order."""
        raise NotImplementedError

    @pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
    @pytest.mark.parametrize("runs", RUNS, ids=str)
    def test_output_is_the_formula(self, runs, training):
        for options in self.options:
            layer, singles = stacked(lambda o=options: self.layer(3, 2, **o), runs, *self.weights)
            x = 2 * normal(*runs, 5, 3)
            x = x.abs() if self.positive else x
            with torch.no_grad():
                y = layer.train(training)(x)
            assert y.shape == (*runs, 5, 2)
            of_runs = zip(singles, x.reshape(-1, 5, 3), y.reshape(-1, 5, 2), strict=True)
            for single, rows, outputs in of_runs:
                single.train(training)
                assert_equals_loop(lambda r, o, s=single: self.formula(s, r, o), rows, outputs)

    @pytest.mark.parametrize("runs", RUNS[1:], ids=str)
    def test_penalties_and_ranges_of_runs_are_those_of_single_layers(self, runs):
        known = option_parameters(self.layer)
        options = {k: v for k, v in PENALTIES_AND_RANGES.items() if k in known}
        assert_runs_equal_singles(lambda: self.layer(3, 2, **options), runs, not self.positive)

    def test_start_values_are_drawn_in_order(self):
        for options in self.start_options:
            torch.manual_seed(2)
            layer = self.layer(IN, OUT, **options)
            state = torch.get_rng_state()
            torch.manual_seed(2)
            for name, value in self.start(**options):
                assert torch.equal(layer.get_parameter(name).data, value), name
            assert torch.equal(state, torch.get_rng_state())

    def test_published_values(self):
        for published in self.published:
            assert_published(build_published(self.layer, **published.options), published)

    def test_penalties_are_those_of_raw_parameters(self):
        for case in self.penalised:
            layer = with_parameters(self.layer, case.parameters, **case.options)
            if case.x is not None:
                layer(case.x)
            assert values_of(layer.regualizer()) == pytest.approx(case.penalties, rel=1e-5), case
            layer.optimize(torch.tensor(0.0))
            assert layer.regualizer().get("z", torch.zeros(())).item() == 0

    def test_parameters_are_clipped_after_a_step(self):
        for case in self.clipped:
            layer = with_parameters(self.layer, case.before, **case.options)
            layer.optimize(torch.tensor(0.0))
            after = {n: p.tolist() for n, p in layer.named_parameters() if n in case.after}
            assert after == case.after, case


def uniform(low: float, high: float, *shape: int) -> torch.Tensor:
    """One fill of a tensor, by default of a weight from IN to OUT."""
    return torch.empty(shape or (OUT, IN)).uniform_(low, high)


def build_published(layer_class: Any, **options) -> ExtendedTorchModule:
    """Two inputs and one output, seed 0, initialised once more, as the published scripts do."""
    torch.manual_seed(0)
    layer = layer_class(2, 1, **options)
    layer.reset_parameters()
    return layer


def values_of(tensors: dict[str, torch.Tensor]) -> dict[str, float]:
    """Numbers by key."""
    return {key: value.item() for key, value in tensors.items()}


def assert_published(layer: ExtendedTorchModule, published: Published) -> None:
    """Parameters, outputs in both modes and penalties, to the digits that are published."""
    actual = {name: p.flatten().tolist() for name, p in layer.named_parameters()}
    assert actual.keys() == published.parameters.keys()
    for name, values in published.parameters.items():
        assert actual[name] == pytest.approx(values, rel=PUBLISHED_DIGITS)
    x, train = published.x, published.train
    assert layer(x).flatten().tolist() == pytest.approx(train, rel=PUBLISHED_DIGITS)
    penalties = pytest.approx(published.penalties, rel=PUBLISHED_DIGITS)
    assert values_of(layer.regualizer()) == penalties
    expected = train if published.evaluation is None else published.evaluation
    assert layer.eval()(x).flatten().tolist() == pytest.approx(expected, rel=PUBLISHED_DIGITS)


def with_parameters(layer_class: Any, parameters: dict[str, Any], **options) -> Any:
    """A layer from 2 to 1 with given parameters."""
    layer = layer_class(2, 1, **options)
    for name, value in parameters.items():
        layer.get_parameter(name).data = torch.tensor(value)
    return layer


def assert_equals_loop(
    formula: Callable[[list[float], int], float], x: torch.Tensor, y: torch.Tensor
) -> None:
    """`formula(row, output)` in Python floats gives every output in float64."""
    assert y.dtype == torch.float64
    for row, outputs in zip(x.tolist(), y.tolist(), strict=True):
        for o, output in enumerate(outputs):
            assert output == pytest.approx(formula(row, o), rel=1e-9, abs=1e-12)


def randomised(layer: Any, low: float, high: float) -> Any:
    """The layer in float64, all parameters drawn from U(low, high)."""
    layer = layer.double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.uniform_(low, high)
    return layer


def stacked(build: Callable[[], Any], runs: tuple[int, ...], low=0.1, high=0.9):
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
    build: Callable[[], ExtendedTorchModule], runs: tuple[int, ...], signed: bool = True
) -> None:
    """Penalties and clipped parameters of stacked runs are those of single layers."""
    layer, singles = stacked(build, runs, -0.4, 1.4)
    x = normal(*runs, 4, 3) * 2
    x = x if signed else x.abs()
    layer(x)
    penalties = layer.regualizer()
    layer.optimize(torch.zeros(runs))
    values = dict(layer.named_parameters())
    for run, (single, x_of_run) in enumerate(zip(singles, x.reshape(-1, 4, 3), strict=True)):
        single(x_of_run)
        expected = single.regualizer()
        assert penalties.keys() == expected.keys()
        for key, value in penalties.items():
            torch.testing.assert_close(value.flatten()[run], expected[key])
        single.optimize(torch.tensor(0.0))
        for name, parameter in single.named_parameters():
            assert torch.equal(values[name].flatten(0, len(runs) - 1)[run], parameter)


def observed(
    layer: ExtendedTorchModule, x: torch.Tensor = X
) -> dict[tuple[str, str], torch.Tensor]:
    """(kind, name) -> value that the layer itself logs after a forward pass on x."""
    layer.trace = {}
    layer(x)
    return {(o.kind, o.name): o.value() for o in layer.observations()}


def draws(function: Callable[[], object]) -> bool:
    """Whether a call takes numbers from the global generator."""
    state = torch.get_rng_state()
    function()
    return not torch.equal(state, torch.get_rng_state())
