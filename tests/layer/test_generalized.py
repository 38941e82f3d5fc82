"""What a trial of a stranger's layer finds before anything is trained."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import dropout

from stable_nalu import Layer
from stable_nalu.abstract import Observation
from stable_nalu.layer.generalized import obstacle
from stable_nalu.layer.own_layers import plain_layer


class Base(torch.nn.Module):
    """A layer as strangers write them: each case below changes one thing of it."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.W = torch.nn.Parameter(torch.rand(out_features, in_features))
        self.build(in_features, out_features)

    def build(self, i, o):
        """Add to what there is."""

    def forward(self, x):
        return x @ self.W.T


def of(**methods):
    """What a trial says of the class `Odd`, which has other methods than `Base`."""
    return obstacle(plain_layer(type("Odd", (Base,), methods)), 4, 2, {})


def with_(**made):
    """A constructor that also sets attributes, made of the sizes."""
    return lambda self, i, o: [setattr(self, name, f(i, o)) for name, f in made.items()]


def raising(error):
    def method(*_):
        raise error

    return method


class WordlessError(BaseException):
    def __str__(self):
        raise RuntimeError("no text")


def parameter(make):
    return lambda i, o: torch.nn.Parameter(make(o, i))


def mask(i, o):
    return (torch.rand(i) > 0.5).float()


def masked(self, x):
    return x * self.mask * self.ones @ self.W.T


def ones(i, o):
    return torch.ones(i)


def remembering(self, x):
    self.last = x.detach()
    return x @ self.W.T


def tied(self, i, o):
    self.up, self.down = torch.nn.Linear(i, o), torch.nn.Linear(i, o)
    self.down.weight = self.up.weight


def buffered(self, i, o):
    self.ones = ones(i, o)
    self.register_buffer("mask", mask(i, o))


@pytest.mark.parametrize(
    "methods", [{}, {"build": buffered, "forward": masked}, {"forward": remembering}]
)
def test_a_module_that_can_be_stacked_has_no_obstacle_and_draws_nothing(methods):
    before = torch.get_rng_state()
    assert of(**methods) is None
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize(
    ("says", "methods"),
    [
        ("item", {"forward": lambda self, x: x @ self.W.T * (1 if self.W.sum().item() else 2)}),
        ("random", {"forward": lambda self, x: dropout(x, 0.5, self.training) @ self.W.T}),
        ("parts of it share a parameter", {"build": tied}),
        (
            "W has a hook on its gradient",
            {"build": lambda self, i, o: self.W.register_hook(lambda gradient: gradient / 2)},
        ),
        ("mask is drawn, and no buffer", {"build": with_(ones=ones, mask=mask), "forward": masked}),
    ],
)
def test_what_vmap_cannot_do_is_an_obstacle(says, methods):
    found = of(**methods)
    assert found is not None
    assert says in found


@pytest.mark.parametrize(
    ("says", "methods"),
    [
        (
            r"Odd maps an input of shape \(3, 4\) to a tensor of shape \(2,\); \(3, 2\) is expect",
            {"forward": lambda self, x: (x @ self.W.T).sum(0)},
        ),
        (
            r"to a tensor of shape \(3,\); \(3, 2\) is expected$",
            {"forward": lambda self, x: (x @ self.W.T)[:, 0] if self.training else x @ self.W.T},
        ),
        ("Odd maps an input .* to NoneType", {"forward": lambda self, x: None}),
        (
            "Odd gives torch.complex64; real numbers are expected$",
            {"forward": lambda self, x: (x @ self.W.T).to(torch.complex64)},
        ),
        (
            "Odd changes its input in place; let it work on a copy$",
            {"forward": lambda self, x: x.mul_(2) @ self.W.T},
        ),
        (
            r"Odd fails on an input of shape \(3, 4\): RuntimeError: first line$",
            {"forward": raising(RuntimeError("first line\nsecond line"))},
        ),
        (
            r"Odd fails on an input of shape \(3, 4\): SystemExit: 0$",
            {"forward": raising(SystemExit(0))},
        ),
        ("Odd fails on an input .*: WordlessError$", {"forward": raising(WordlessError)}),
        (
            "Odd cannot be built: ValueError: power is odd$",
            {"build": raising(ValueError("power is odd."))},
        ),
        ("Odd cannot be built: SystemExit: no GPU$", {"build": raising(SystemExit("no GPU"))}),
        (
            "Odd: module.W is a sparse tensor; make it dense$",
            {"build": with_(W=parameter(lambda *shape: torch.rand(shape).to_sparse()))},
        ),
        (
            "Odd: module.rows.weight has a sparse gradient; make it dense$",
            {
                "build": with_(rows=lambda i, o: torch.nn.Embedding(i, o, sparse=True)),
                "forward": lambda self, x: x @ self.rows(torch.arange(x.shape[-1])),
            },
        ),
        (
            "Odd: module.linear.weight has no numbers yet; build it with all its sizes$",
            {"build": with_(linear=lambda i, o: torch.nn.LazyLinear(o))},
        ),
        (
            "Odd: module.W has no numbers yet; build it with all its sizes$",
            {"build": with_(W=parameter(lambda *shape: torch.empty(shape, device="meta")))},
        ),
        (
            r"its observation 'W/sparsity_error' has shape \(2,\)",
            {"sparsity_error": lambda self: self.W.abs().amax(-1)},
        ),
        (
            "its observation 'W/sparsity_error' fails: RuntimeError: no weight",
            {"sparsity_error": raising(RuntimeError("no weight"))},
        ),
        (
            r"Odd defines param_groups\(\), .*; all parameters have one --learning-rate$",
            {"build": with_(part=lambda i, o: type("Odd", (Base,), {"param_groups": list})(i, o))},
        ),
        *(
            (
                rf"Odd defines {name}\(\), which is not called; inherit stable_nalu.Layer for pen",
                {name: lambda self, *_: {}},
            )
            for name in (
                *("regualizer", "regularizer_terms", "regualizer_terms"),
                *("parameter_bounds", "optimize"),
            )
        ),
    ],
)
def test_what_does_not_work_is_refused(says, methods):
    with pytest.raises(ValueError, match=says):
        of(**methods)


def test_ctrl_c_is_no_failure_of_a_layer():
    with pytest.raises(KeyboardInterrupt):
        of(forward=raising(KeyboardInterrupt))


class Known(Layer):
    """A layer of the project's kind."""

    def __init__(self, in_features, out_features, **options):
        super().__init__(in_features, out_features, **options)
        self.W = torch.nn.Parameter(torch.zeros(out_features, in_features))

    def reset_parameters(self):
        torch.nn.init.ones_(self.W)

    def forward(self, x):
        return x @ self.W.mT

    def regualizer_terms(self):
        return {"W": lambda: self.W.abs().sum((-2, -1))}

    def parameter_bounds(self):
        return {"W": (-1, 1)}


def known(**methods):
    return obstacle(type("Odd", (Known,), methods), 4, 2, {})


@pytest.mark.parametrize(
    ("says", "methods"),
    [
        (
            "Odd has a penalty 'w'; no flag weighs it, but W,",
            {"regualizer_terms": lambda self: {"w": lambda: self.W.abs().sum((-2, -1))}},
        ),
        (
            "Odd bounds 'weight', which is not a parameter of its",
            {"parameter_bounds": lambda self: {"weight": (-1, 1)}},
        ),
        (
            r"Odd: its penalty 'W' has shape \(2, 4\); one number is expected",
            {"regualizer_terms": lambda self: {"W": lambda: self.W.abs()}},
        ),
        (
            "Odd: its observation 'W/largest' fails: .*nothing",
            {
                "observations": lambda self: [
                    Observation("scalar", "W/largest", lambda: self.nothing.max(), False)
                ]
            },
        ),
        *(
            (rf"Odd defines {name}\(\), .*; {remedy}$", {name: lambda self, *_: {}})
            for name, remedy in (
                ("regualizer", r"write regualizer_terms\(\)"),
                ("regularizer_terms", r"write regualizer_terms\(\)"),
                ("optimize", r"write parameter_bounds\(\) or after_step\(\)"),
            )
        ),
    ],
)
def test_what_no_flag_reaches_or_nobody_calls_is_refused(says, methods):
    with pytest.raises(ValueError, match=says):
        known(**methods)


@pytest.mark.parametrize(
    ("says", "methods"),
    [
        (None, {}),
        (
            "its penalty 'W' is not one number for each run of a stack",
            {"regualizer_terms": lambda self: {"W": lambda: self.W.abs().sum()}},
        ),
        (
            "its outputs are others where runs are stacked",
            {"forward": lambda self, x: x @ self.W.mT + x.mean() * x.ndim},
        ),
    ],
)
def test_layers_of_this_kind_that_keep_runs_apart_or_do_not(says, methods):
    assert known(**methods) == says
