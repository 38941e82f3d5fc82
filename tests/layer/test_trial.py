"""What a trial of a stranger's layer finds before anything is trained."""

from __future__ import annotations

import sys

import pytest
import torch

from stable_nalu import Layer
from stable_nalu.abstract import Observation
from stable_nalu.layer.plain import plain_layer
from stable_nalu.layer.trial import obstacle


class Base(torch.nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.W = torch.nn.Parameter(torch.rand(out_features, in_features))

    def forward(self, x):
        return x @ self.W.T


class Branching(Base):
    def forward(self, x):
        return x @ self.W.T if self.W.sum().item() > 0 else -x @ self.W.T


class Sampling(Base):
    def forward(self, x):
        return torch.nn.functional.dropout(x, 0.5, self.training) @ self.W.T


class WrongShape(Base):
    def forward(self, x):
        return (x @ self.W.T).sum(0)


class NoTensor(Base):
    def forward(self, x):
        return None


class Raising(Base):
    def forward(self, x):
        raise RuntimeError("first line\nsecond line")


class InPlace(Base):
    def forward(self, x):
        return x.mul_(2) @ self.W.T


class WrongShapeInTraining(Base):
    def forward(self, x):
        y = x @ self.W.T
        return y.sum(-1) if self.training else y


class Complex(Base):
    def forward(self, x):
        return (x @ self.W.T).to(torch.complex64)


class Tied(torch.nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.up = torch.nn.Linear(in_features, out_features)
        self.down = torch.nn.Linear(in_features, out_features)
        self.down.weight = self.up.weight

    def forward(self, x):
        return self.up(x) - self.down(x)


class Hooked(Base):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        self.W.register_hook(lambda gradient: gradient / 2)


class Masked(Base):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        self.ones = torch.ones(in_features)
        self.mask = (torch.rand(in_features) > 0.5).float()

    def forward(self, x):
        return x * self.mask * self.ones @ self.W.T


class MaskedByBuffer(Base):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        self.ones = torch.ones(in_features)
        self.register_buffer("mask", (torch.rand(in_features) > 0.5).float())

    forward = Masked.forward


class Remembering(Base):
    def forward(self, x):
        self.last = x.detach()
        return x @ self.W.T


class Unbuilt(Base):
    def __init__(self, in_features, out_features, power=1):
        raise ValueError("power is odd.")


class Wordless(BaseException):
    def __str__(self):
        raise RuntimeError("no text")


class FailingInItsOwnWay(Base):
    def forward(self, x):
        raise Wordless


class Interrupted(Base):
    def forward(self, x):
        raise KeyboardInterrupt


class Sparse(Base):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        self.W = torch.nn.Parameter(self.W.detach().to_sparse())


class SparseGradient(Base):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        self.rows = torch.nn.Embedding(in_features, out_features, sparse=True)

    def forward(self, x):
        return x @ self.rows(torch.arange(x.shape[-1]))


class Unsized(Base):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        self.linear = torch.nn.LazyLinear(out_features)


class Numberless(Base):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features, device="meta"))


class LeavingWhenBuilt(Base):
    def __init__(self, in_features, out_features):
        sys.exit("no GPU")


class Leaving(Base):
    def forward(self, x):
        sys.exit(0)


class Penalised(Layer):
    penalty, bounded = "w", "W"

    def __init__(self, in_features, out_features, **options):
        super().__init__(in_features, out_features, **options)
        self.W = torch.nn.Parameter(torch.zeros(out_features, in_features))

    def reset_parameters(self):
        torch.nn.init.ones_(self.W)

    def forward(self, x):
        return x @ self.W.mT

    def regualizer_terms(self):
        return {self.penalty: lambda: self.W.abs().sum((-2, -1))}

    def parameter_bounds(self):
        return {self.bounded: (-1, 1)}


class Bounded(Penalised):
    penalty, bounded = "W", "weight"


class Known(Penalised):
    penalty, bounded = "W", "W"


def test_what_no_flag_reaches_is_refused():
    with pytest.raises(ValueError, match="Penalised has a penalty 'w'; no flag weighs it, but W,"):
        obstacle(Penalised, 4, 2, {})
    with pytest.raises(ValueError, match="Bounded bounds 'weight', which is no parameter of its"):
        obstacle(Bounded, 4, 2, {})
    assert obstacle(Known, 4, 2, {}) is None


def with_method(base, name):
    """Return a class of the same name with a further method."""
    return type(base.__name__, (base,), {name: lambda self, *_: {}})


@pytest.mark.parametrize(
    "method",
    ["regualizer", "regularizer_terms", "regualizer_terms", "parameter_bounds", "optimize"],
)
def test_methods_of_a_plain_module_that_nobody_calls_are_refused(method):
    says = rf"Base defines {method}\(\), which is not called; inherit stable_nalu.Layer for penal"
    with pytest.raises(ValueError, match=says):
        of(with_method(Base, method))


@pytest.mark.parametrize(
    ("method", "remedy"),
    [
        ("regualizer", r"write regualizer_terms\(\)"),
        ("regularizer_terms", r"write regualizer_terms\(\)"),
        ("optimize", r"write parameter_bounds\(\) or after_step\(\)"),
    ],
)
def test_methods_of_a_layer_that_nobody_calls_are_refused(method, remedy):
    with pytest.raises(ValueError, match=rf"Known defines {method}\(\), .*; {remedy}$"):
        obstacle(with_method(Known, method), 4, 2, {})


def test_rates_of_single_parameters_are_refused_in_parts_too():
    class Whole(Base):
        def __init__(self, in_features, out_features):
            super().__init__(in_features, out_features)
            self.part = with_method(Base, "param_groups")(in_features, out_features)

    says = r"Base defines param_groups\(\), .*; all parameters have one --learning-rate$"
    with pytest.raises(ValueError, match=says):
        of(Whole)


class PerElement(Known):
    def regualizer_terms(self):
        return {"W": lambda: self.W.abs()}


class SumOfRuns(Known):
    def regualizer_terms(self):
        return {"W": lambda: self.W.abs().sum()}


class Untold(Known):
    def observations(self):
        return [Observation("scalar", "W/largest", lambda: self.nothing.max(), False)]


class RowErrors(Base):
    def sparsity_error(self):
        return self.W.abs().amax(-1)


class FailingError(Base):
    def sparsity_error(self):
        raise RuntimeError("no weight")


@pytest.mark.parametrize(
    ("layer", "says"),
    [
        (PerElement, r"PerElement: its penalty 'W' has shape \(2, 4\); one number is expected"),
        (Untold, "Untold: its observation 'W/largest' fails: .*nothing"),
        (plain_layer(RowErrors), r"its observation 'W/sparsity_error' has shape \(2,\)"),
        (
            plain_layer(FailingError),
            "its observation 'W/sparsity_error' fails: RuntimeError: no weight",
        ),
    ],
)
def test_penalties_and_errors_that_are_no_number_are_refused(layer, says):
    with pytest.raises(ValueError, match=says):
        obstacle(layer, 4, 2, {})


def test_a_penalty_of_all_runs_together_keeps_runs_apart():
    assert obstacle(SumOfRuns, 4, 2, {}) == (
        "its penalty 'W' is not one number for each run of a stack"
    )


def of(module, **options):
    return obstacle(plain_layer(module), 4, 2, options)


@pytest.mark.parametrize("module", [Base, MaskedByBuffer, Remembering])
def test_a_module_that_can_be_stacked_has_no_obstacle_and_draws_nothing(module):
    before = torch.get_rng_state()
    assert of(module) is None
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (Branching, "item"),
        (Sampling, "random"),
        (Tied, "parts of it share a parameter"),
        (Hooked, "W has a hook on its gradient"),
        (Masked, "mask is drawn, and no buffer"),
    ],
)
def test_what_vmap_cannot_do_is_an_obstacle(module, says):
    found = of(module)
    assert found is not None
    assert says in found


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (
            WrongShape,
            r"WrongShape maps an input of shape \(3, 4\) to a tensor of shape \(2,\); "
            r"\(3, 2\) is expected",
        ),
        (NoTensor, "NoTensor maps an input .* to NoneType"),
        (Raising, r"Raising fails on an input of shape \(3, 4\): RuntimeError: first line$"),
        (Unbuilt, "Unbuilt cannot be built: ValueError: power is odd$"),
        (LeavingWhenBuilt, "LeavingWhenBuilt cannot be built: SystemExit: no GPU$"),
        (Leaving, r"Leaving fails on an input of shape \(3, 4\): SystemExit: 0$"),
        (FailingInItsOwnWay, r"FailingInItsOwnWay fails on an input .*: Wordless$"),
        (Sparse, "Sparse: module.W is a sparse tensor; make it dense$"),
        (
            SparseGradient,
            "SparseGradient: module.rows.weight has a sparse gradient; make it dense$",
        ),
        (Unsized, "Unsized: module.linear.weight has no numbers yet; build it with all its sizes$"),
        (Numberless, "Numberless: module.W has no numbers yet; build it with all its sizes$"),
        (InPlace, "InPlace changes its input in place; let it work on a copy$"),
        (WrongShapeInTraining, r"to a tensor of shape \(3,\); \(3, 2\) is expected$"),
        (Complex, "Complex gives torch.complex64; real numbers are expected$"),
    ],
)
def test_what_does_not_work_is_refused(module, says):
    with pytest.raises(ValueError, match=says):
        of(module)


def test_ctrl_c_is_no_failure_of_a_layer():
    with pytest.raises(KeyboardInterrupt):
        of(Interrupted)


class Mixed(Layer):
    """A layer of the project's kind that forgets the run dimension."""

    def __init__(self, in_features, out_features, *, name=None):
        super().__init__(in_features, out_features, name=name)
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features))

    def reset_parameters(self):
        torch.nn.init.uniform_(self.W)

    def forward(self, x):
        mean = x.mean() if x.ndim == 2 else x.mean() * 2
        return x @ self.W.transpose(-1, -2) + mean


def test_a_layer_of_this_kind_that_gives_other_numbers_in_a_stack():
    assert obstacle(Mixed, 4, 2, {}) == "its outputs are others where runs are stacked"
