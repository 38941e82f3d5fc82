"""What is asked of every layer of the package; a subclass of `LayerChecks` says what is its own."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
import torch

from tests.layer_values import IN, OUT, X, randomised, with_parameters
from tests.runs import normal

PUBLISHED_DIGITS = 5e-6


@dataclass(frozen=True)
class Published:
    """What the published code gives for seed 0, two inputs and one output, to its digits."""

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
    x: list[list[float]]
    y: list[float]
    options: dict[str, Any] = field(default_factory=dict)
    modes: tuple[bool, ...] = (True, False)
    rel: float = 1e-9


class LayerChecks:
    """A subclass names its layer and writes the formula of the docstring in Python floats.

    That runs of a stack are single layers is in tests/contract.
    """

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
    refused: ClassVar[tuple[tuple[dict[str, Any], str], ...]] = ()
    """Options that are no options of the layer, or values that are none, and what is said."""

    def formula(self, layer: Any, row: list[float], o: int) -> float:
        """Return one output of one row."""
        raise NotImplementedError

    def start(self, **options: Any) -> Iterator[tuple[str, torch.Tensor]]:
        """Draw the start values from IN to OUT, in order."""
        raise NotImplementedError

    def test_output_is_the_formula(self):
        for options, training in itertools.product(self.options, (True, False)):
            layer = randomised(self.layer(3, 2, **options), *self.weights).train(training)
            x = 2 * normal(8, 3)
            x = x.abs() if self.positive else x
            y = layer(x)
            assert (y.dtype, y.shape) == (torch.float64, (8, 2))
            for row, outputs in zip(x.tolist(), y.tolist(), strict=True):
                expected = [self.formula(layer, row, o) for o in range(2)]
                assert outputs == pytest.approx(expected, rel=1e-9, abs=1e-12), (options, row)

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
        """A layer is initialised once more, as the published scripts do."""
        for case in self.published:
            torch.manual_seed(0)
            layer = self.layer(2, 1, **case.options)
            layer.reset_parameters()
            y, penalties = layer(case.x).flatten().tolist(), values_of(layer.regualizer())
            assert y == pytest.approx(case.train, rel=PUBLISHED_DIGITS), case
            assert penalties == pytest.approx(case.penalties, rel=PUBLISHED_DIGITS), case
            y, expected = layer.eval()(case.x).flatten().tolist(), case.evaluation or case.train
            assert y == pytest.approx(expected, rel=PUBLISHED_DIGITS), case

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

    def test_options_that_are_none_are_refused(self):
        for options, says in self.refused:
            with pytest.raises((ValueError, TypeError), match=says):
                self.layer(2, 1, **options)


def values_of(tensors: dict[str, torch.Tensor]) -> dict[str, float]:
    """Numbers by key."""
    return {key: value.item() for key, value in tensors.items()}
