"""What is asked of every layer of the package; a subclass of `LayerChecks` says what is its own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import pytest
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer.base import option_parameters

from .layer_values import IN, OUT, X, draws, randomised, with_parameters
from .runs import in_runs, normal

PUBLISHED_DIGITS = 5e-6
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


@dataclass(frozen=True)
class Worked:
    """Outputs of given parameters that one can work out by hand, in these modes of training."""

    parameters: dict[str, Any]
    x: Rows
    y: list[float]
    options: dict[str, Any] = field(default_factory=dict)
    modes: tuple[bool, ...] = (True, False)
    rel: float = 1e-9


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
    worked: ClassVar[tuple[Worked, ...]] = ()
    start_options: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    normalised: ClassVar[tuple[dict[str, Any], ...]] = ()
    """Options of layers whose product is that of inputs divided by their deviation."""
    noisy: ClassVar[tuple[dict[str, Any], ...]] = ()
    """Options of layers that draw noise in training."""
    refused: ClassVar[tuple[tuple[dict[str, Any], str], ...]] = ()
    """Options that are no options of the layer, or values that are none, and what is said."""

    def formula(self, layer: Any, row: list[float], o: int) -> float:
        """Return one output of one row."""
        raise NotImplementedError

    def start(self, **options: Any) -> Iterator[tuple[str, torch.Tensor]]:
        """Draw the start values from IN to OUT, in order."""
        raise NotImplementedError

    @pytest.mark.parametrize("runs", [(), (2, 3)], ids=str)
    def test_output_is_the_formula(self, runs):
        for options, training in itertools.product(self.options, (True, False)):
            layer, singles = stacked(lambda o=options: self.layer(3, 2, **o), runs, *self.weights)
            x = 2 * normal(*runs, 4, 3)
            x = x.abs() if self.positive else x
            with torch.no_grad():
                y = layer.train(training)(x)
            assert y.shape == (*runs, 4, 2)
            of_runs = zip(singles, x.reshape(-1, 4, 3), y.reshape(-1, 4, 2), strict=True)
            for single, rows, outputs in of_runs:
                single.train(training)
                assert_equals_loop(lambda r, o, s=single: self.formula(s, r, o), rows, outputs)

    def test_penalties_and_ranges_of_runs_are_those_of_single_layers(self):
        known = option_parameters(self.layer)
        options = {k: v for k, v in PENALTIES_AND_RANGES.items() if k in known}
        assert_runs_equal_singles(lambda: self.layer(3, 2, **options), (2, 3), not self.positive)

    def test_worked_outputs(self):
        for case in self.worked:
            inputs = len(case.x[0])
            layer = with_parameters(self.layer, case.parameters, inputs, **case.options).double()
            for training in case.modes:
                y = layer.train(training)(torch.tensor(case.x).double()).flatten().tolist()
                assert y == pytest.approx(case.y, rel=case.rel, nan_ok=True), (case, training)

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
            assert layer.regualizer().get("z", torch.zeros(())).item() == 0, case

    def test_parameters_are_clipped_after_a_step(self):
        for case in self.clipped:
            layer = with_parameters(self.layer, case.before, **case.options)
            layer.optimize(torch.tensor(0.0))
            after = {n: p.tolist() for n, p in layer.named_parameters() if n in case.after}
            assert after == case.after, case

    def weights_of(self, layer: Any, o: int) -> list[float]:
        """Return the weights of one output as its product takes them."""
        return layer.W[o].tolist()

    def test_a_normalised_product_is_that_of_divided_inputs(self):
        for options in self.normalised:
            layer = randomised(self.layer(3, 2, mnac_normalized=True, **options), -0.4, 1.4)
            x = normal(5, 3)
            c, y = x.std().item(), layer(x)
            for row, outputs in zip((x / c).tolist(), y.tolist(), strict=True):
                for o, value in enumerate(outputs):
                    expected = self.formula(layer, row, o) * c ** sum(self.weights_of(layer, o))
                    assert value == pytest.approx(expected, rel=1e-11)

    def test_only_evaluation_switches_noise_off(self):
        for options in self.noisy:
            layer = self.layer(2, 1, **options)
            with layer.no_random():
                assert draws(partial(layer, X))
            assert not draws(partial(layer.eval(), X))

    def test_options_that_are_none_are_refused(self):
        for options, says in self.refused:
            with pytest.raises((ValueError, TypeError), match=says):
                self.layer(2, 1, **options)


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


def assert_equals_loop(
    formula: Callable[[list[float], int], float], x: torch.Tensor, y: torch.Tensor
) -> None:
    """`formula(row, output)` in Python floats gives every output in float64."""
    assert y.dtype == torch.float64
    for row, outputs in zip(x.tolist(), y.tolist(), strict=True):
        for o, output in enumerate(outputs):
            expected = formula(row, o)
            near = math.isclose(output, expected, rel_tol=1e-9, abs_tol=1e-12)
            assert near, f"{output} is not {expected} at {row}, output {o}"


def stacked(build: Callable[[], Any], runs: tuple[int, ...], low=0.1, high=0.9):
    """(stacked layer, the single layers of all runs in order), with different parameters."""
    count = torch.Size(runs).numel()
    singles = [randomised(build(), low, high) for _ in range(count)]
    states = [single.state_dict() for single in singles]
    layers = [build().double() for _ in range(count)]
    for layer, state in zip(layers, states, strict=True):
        layer.load_state_dict(state)
    return in_runs(runs, layers), singles


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
