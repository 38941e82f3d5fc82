"""What a trial of a stranger's layer finds before anything is trained."""

import pytest
import torch
from torch.nn.functional import dropout

from stable_nalu import Layer
from stable_nalu.abstract import Observation
from stable_nalu.layer.own_layers import plain_layer
from stable_nalu.layer.user_code import obstacle


class Plain(torch.nn.Module):
    """A layer as strangers write them: each case below changes one thing of it."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.W = torch.nn.Parameter(torch.rand(out_features, in_features))
        self.build(in_features, out_features)

    def build(self, i, o):
        """Add to what there is."""

    def forward(self, x):
        return x @ self.W.T


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


def trial(base, methods):
    """What a trial says of the class `Odd`, which has other methods than its base."""
    odd = type("Odd", (base,), methods)
    return obstacle(plain_layer(odd) if base is Plain else odd, 4, 2, {})


def forward(function):
    return {"forward": function}


def made(**parts):
    """A constructor that also sets attributes, made of the sizes."""
    return {"build": lambda self, i, o: [setattr(self, n, f(i, o)) for n, f in parts.items()]}


def raising(error):
    def method(*_):
        raise error

    return method


class WordlessError(BaseException):
    def __str__(self):
        raise RuntimeError("no text")


def parameter(make):
    return lambda i, o: torch.nn.Parameter(make((o, i)))


def mask(i, o):
    return (torch.rand(i) > 0.5).float()


def ones(i, o):
    return torch.ones(i)


def masked(self, x):
    return x * self.mask * self.ones @ self.W.T


def remembering(self, x):
    self.last = x.detach()
    return x @ self.W.T


def tied(self, i, o):
    self.up, self.down = torch.nn.Linear(i, o), torch.nn.Linear(i, o)
    self.down.weight = self.up.weight


def buffered(self, i, o):
    self.ones = ones(i, o)
    self.register_buffer("mask", mask(i, o))


def terms(function):
    """The one penalty of a layer, of its weight."""
    return {"regualizer_terms": lambda self: {"W": lambda: function(self.W)}}


STACKED = [
    (Plain, {}, None),
    (Plain, {"build": buffered, "forward": masked}, None),
    (Plain, forward(remembering), None),
    (Known, {}, None),
    (Plain, forward(lambda self, x: x @ self.W.T * (1 + (self.W.sum().item() > 0))), "item"),
    (Plain, forward(lambda self, x: dropout(x, 0.5, self.training) @ self.W.T), "random"),
    (Plain, {"build": tied}, "parts of it share a parameter"),
    (
        Plain,
        {"build": lambda self, i, o: self.W.register_hook(lambda gradient: gradient / 2)},
        "W has a hook on its gradient",
    ),
    (Plain, made(ones=ones, mask=mask) | forward(masked), "mask is drawn, and no buffer"),
    (Known, terms(lambda W: W.abs().sum()), "penalty 'W' is not one number for each run of a"),
    (
        Known,
        forward(lambda self, x: x @ self.W.mT + x.mean() * x.ndim),
        "its outputs are others where runs are stacked",
    ),
]


@pytest.mark.parametrize(("base", "methods", "says"), STACKED)
def test_an_obstacle_is_named_and_nothing_is_drawn(base, methods, says):
    before = torch.get_rng_state()
    found = trial(base, methods)
    assert torch.equal(before, torch.get_rng_state())
    assert found is None if says is None else says in found


REFUSED = [
    (
        r"Odd maps an input of shape \(3, 4\) to a tensor of shape \(2,\); \(3, 2\) is expect",
        forward(lambda self, x: (x @ self.W.T).sum(0)),
    ),
    (
        r"to a tensor of shape \(3,\); \(3, 2\) is expected$",
        forward(lambda self, x: (x @ self.W.T)[:, 0] if self.training else x @ self.W.T),
    ),
    ("Odd maps an input .* to NoneType", forward(lambda self, x: None)),
    (
        "Odd gives torch.complex64; real numbers are expected$",
        forward(lambda self, x: (x @ self.W.T).to(torch.complex64)),
    ),
    (
        "Odd changes its input in place; let it work on a copy$",
        forward(lambda self, x: x.mul_(2) @ self.W.T),
    ),
    (
        r"Odd fails on an input of shape \(3, 4\): RuntimeError: first line$",
        forward(raising(RuntimeError("first line\nsecond line"))),
    ),
    (r"Odd fails on an input .*: SystemExit: 0$", forward(raising(SystemExit(0)))),
    ("Odd fails on an input .*: WordlessError$", forward(raising(WordlessError))),
    (
        "Odd cannot be built: ValueError: power is odd$",
        {"build": raising(ValueError("power is odd."))},
    ),
    ("Odd cannot be built: SystemExit: no GPU$", {"build": raising(SystemExit("no GPU"))}),
    (
        "Odd: module.W is a sparse tensor; make it dense$",
        made(W=parameter(lambda shape: torch.rand(shape).to_sparse())),
    ),
    (
        "Odd: module.rows.weight has a sparse gradient; make it dense$",
        made(rows=lambda i, o: torch.nn.Embedding(i, o, sparse=True))
        | forward(lambda self, x: x @ self.rows(torch.arange(x.shape[-1]))),
    ),
    (
        "Odd: module.linear.weight has no numbers yet; build it with all its sizes$",
        made(linear=lambda i, o: torch.nn.LazyLinear(o)),
    ),
    (
        "Odd: module.W has no numbers yet; build it with all its sizes$",
        made(W=parameter(lambda shape: torch.empty(shape, device="meta"))),
    ),
    (
        r"its observation 'W/sparsity_error' has shape \(2,\)",
        {"sparsity_error": lambda self: self.W.abs().amax(-1)},
    ),
    (
        "its observation 'W/sparsity_error' fails: RuntimeError: no weight",
        {"sparsity_error": raising(RuntimeError("no weight"))},
    ),
    *(
        (
            rf"Odd defines {name}\(\), which is not called; inherit stable_nalu.Layer for pen",
            {name: lambda self, *_: {}},
        )
        for name in ("regualizer", "regularizer_terms", "parameter_bounds", "optimize")
    ),
]
OF_KNOWN = [
    (
        "Odd bounds 'weight', which is not a parameter of its",
        {"parameter_bounds": lambda self: {"weight": (-1, 1)}},
    ),
    (r"Odd: its penalty 'W' has shape \(2, 4\); one number is expected", terms(lambda W: W.abs())),
    (
        "Odd: its observation 'W/largest' fails: .*nothing",
        {
            "observations": lambda self: [
                Observation("scalar", "W/largest", lambda: self.nothing.max(), False)
            ]
        },
    ),
    *(
        (rf"Odd defines {name}\(\), .*; write {remedy}$", {name: lambda self, *_: {}})
        for name, remedy in (
            ("regularizer_terms", r"regualizer_terms\(\)"),
            ("optimize", r"parameter_bounds\(\) or after_step\(\)"),
        )
    ),
]


@pytest.mark.parametrize(
    ("base", "says", "methods"),
    [*((Plain, *case) for case in REFUSED), *((Known, *case) for case in OF_KNOWN)],
)
def test_what_does_not_work_is_refused(base, says, methods):
    with pytest.raises(ValueError, match=says):
        trial(base, methods)


def test_ctrl_c_is_no_failure_of_a_layer():
    with pytest.raises(KeyboardInterrupt):
        trial(Plain, forward(raising(KeyboardInterrupt)))
