"""Each rule of lowering against torch: nodes are interpreted by NumPy in float64."""

import math

import numpy as np
import pytest
import torch

from torchlanes.graph import Graph
from torchlanes.lower import Lowering
from torchlanes.values import NotLoweredError, Tensors

SAMPLES = 5
LONG = 4
"""Dimensions of more numbers are counted by loops, as those of more than forty are in training."""

SIMPLE = {
    **{"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power},
    **{"neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "exp": np.exp, "expm1": np.expm1},
    **{"log": np.log, "log1p": np.log1p, "tanh": np.tanh, "sin": np.sin, "cos": np.cos},
    **{"sinh": np.sinh, "sign": np.sign, "rint": np.rint, "min": np.minimum, "max": np.maximum},
    **{"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal},
    **{"gt": np.greater, "ge": np.greater_equal, "where": np.where, "not": np.logical_not},
    **{"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor},
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "cosh": np.cosh,
    "erf": np.vectorize(math.erf),
    "atan2": np.arctan2,
}
REDUCED = {"sum": np.sum, "prod": np.prod, "max": np.max}


class Interpreter:
    """Numbers of nodes, where memory holds given tensors."""

    def __init__(self, graph, memory):
        self.graph, self.memory = graph, memory

    def __call__(self, node, at):
        if node.op == "const":
            return node.value
        if node.op == "load":
            return self.memory[node.name][tuple(self._place(part, at) for part in node.index)]
        if node.op == "pick":
            (arg,) = node.args
            own = zip(sorted(arg.axes), node.index, strict=True)
            return self(arg, {**at, **{axis: self._place(part, at) for axis, part in own}})
        if node.op == "reduce":
            places = range(self.graph.extents[node.axis])
            numbers = [self(node.args[0], {**at, node.axis: k}) for k in places]
            return REDUCED[node.name](numbers)
        return SIMPLE[node.op](*(self(arg, at) for arg in node.args))

    def _place(self, part, at):
        name, first, step = part if isinstance(part, tuple) else (part, 0, 1)
        return first + step * at[name] if isinstance(name, str) else name

    def tensor(self, value):
        """The tensor that a value stands for."""
        found = np.empty(value.shape)
        for place in np.ndindex(value.shape):
            own, at = [], {}
            for d, k in enumerate(place):
                (entry,) = (e for e, places in enumerate(value.places(d)) if k in places)
                own.append(entry)
                at[value.counted_by(d)[entry]] = value.places(d)[entry].index(k)
            found[place] = self(value.nodes[tuple(own)], at)
        return found


def assert_lowered(function, *tensors, batch=(), longest=LONG, cuts=False):
    """A recorded function gives torch's numbers; `batch`: which tensors begin with samples."""
    tensors = [t.double().clone() for t in tensors]
    graph = Graph()
    made = Tensors(graph, longest, cuts)
    names = [f"t{k}" for k in range(len(tensors))]
    lowering = Lowering(made, torch.float64)
    for k, (name, t) in enumerate(zip(names, tensors, strict=True)):
        lowering.learn(t, made.stored(name, t.shape, 0 if k in batch else None))
    with lowering:
        output = lowering.value(function(*tensors))
    memory = {name: t.numpy() for name, t in zip(names, tensors, strict=True)}
    with np.errstate(all="ignore"):
        found = Interpreter(graph, memory).tensor(output)
    expected = function(*tensors).double().numpy()
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def some(*shape, seed=0):
    """Numbers of both signs, without ties."""
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


F = torch.nn.functional
OF_ONE = {
    **{n: getattr(torch, n) for n in ("neg", "abs", "exp", "expm1", "tanh", "sigmoid", "sin")},
    **{n: getattr(torch, n) for n in ("cos", "sinh", "sign", "round", "square", "reciprocal")},
    "erf": torch.erf,
    **{n: getattr(F, n) for n in ("relu", "relu6", "elu", "selu", "silu", "softplus", "softsign")},
    **{n: getattr(F, n) for n in ("hardtanh", "leaky_relu", "gelu")},
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "layer norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "sqrt": lambda x: x.abs().sqrt(),
    "rsqrt": lambda x: x.abs().rsqrt(),
    "log": lambda x: x.abs().log(),
    "log1p": lambda x: x.abs().log1p(),
    **{f"to the power {p}": lambda x, p=p: x**p for p in (0, 1, 2, 3, -1)},
    "to the power 0.5": lambda x: x.abs() ** 0.5,
    "to the power 1.7": lambda x: x.abs() ** 1.7,
    "number to the power": lambda x: 2.0**x,
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "clamp below": lambda x: x.clamp(min=0.1),
    "clamp above": lambda x: x.clamp(max=0.1),
    "rsub": lambda x: 1 - x,
    "masked": lambda x: x.masked_fill(x > 0, 3.0),
    "where": lambda x: torch.where((x > 0) & ~(x > 1) | (x < -1), x, 2 * x),
    "xor": lambda x: ((x > 0) ^ (x > 1)).to(x.dtype),
    "number of truth": lambda x: (x > 0) * x,
    "full": lambda x: torch.full_like(x, 2.0) + torch.ones_like(x) + torch.zeros_like(x),
    **{f"sum {d}": lambda x, d=d: x.sum(d) for d in (0, -1)},
    **{f"mean {d}": lambda x, d=d: x.mean(d, keepdim=True) for d in (0, -1)},
    **{f"prod {d}": lambda x, d=d: x.prod(d) for d in (0, -1)},
    **{f"largest {d}": lambda x, d=d: x.amax(d) for d in (0, -1)},
    **{f"smallest {d}": lambda x, d=d: x.amin(d) for d in (0, -1)},
    **{f"std {d}": lambda x, d=d: x.std(d) for d in (0, -1)},
    **{f"var {d}": lambda x, d=d: x.var(d, correction=0) for d in (0, -1)},
    "sum of all": torch.sum,
    "mean of all": torch.mean,
    "largest of all": torch.max,
    "smallest of all": torch.min,
    "norm": lambda x: torch.linalg.vector_norm(x),
    "norm of order 1": lambda x: torch.linalg.vector_norm(x, 1, -1),
    **{f"softmax {d}": lambda x, d=d: x.softmax(d) for d in (0, -1)},
    "log softmax": lambda x: x.log_softmax(-1),
    "transposed": lambda x: x.mT + 1,
    "permuted": lambda x: x.unsqueeze(0).permute(2, 0, 1) * 2,
    "squeezed": lambda x: x.unsqueeze(1).squeeze(1) * 2,
    "repeated": lambda x: x.unsqueeze(0).expand(3, *x.shape) * 2,
    "sum of repeated": lambda x: x.unsqueeze(0).expand(3, *x.shape).sum(0),
    "product of repeated": lambda x: x.unsqueeze(0).expand(3, *x.shape).prod(0),
}
SHAPES = {"short": (2, 3), "one long": (2, 6)}
LONG_SQUARE = (6, 6)


@pytest.mark.parametrize("shape", [*SHAPES.values(), LONG_SQUARE], ids=[*SHAPES, "long square"])
@pytest.mark.parametrize("name", OF_ONE)
def test_of_one_tensor(name, shape):
    assert_lowered(OF_ONE[name], some(*shape))
    assert_lowered(OF_ONE[name], some(SAMPLES, shape[1]), batch=[0])


WRITTEN = {
    "part": lambda x: x[:, 1:3] * 2,
    "every second": lambda x: x[:, ::2] * 2,
    "entry": lambda x: x[:, 1] * 2,
    "times the last entry": lambda x: x[:, -1].unsqueeze(1) * x,
    "of each its own": lambda x: x * torch.arange(x.shape[1]),
    "joined": lambda x: torch.cat([x, 2 * x], 1),
    "stacked": lambda x: torch.stack([x, 2 * x], 1),
    "entries": lambda x: sum(x.unbind(1)),
    "split": lambda x: x.split(2, 1)[1],
    "reshaped": lambda x: x.reshape(-1, 2, x.shape[1] // 2).sum(1),
    "flat": lambda x: x.reshape(-1) * 2,
    "place of the largest": lambda x: x.argmax(-1).double(),
    "gathered": lambda x: x.gather(1, x.argmax(-1, keepdim=True)),
    "one hot": lambda x: torch.zeros_like(x).scatter(1, x.argmax(-1, keepdim=True), 1.0),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_of_dimensions_that_are_written_out(name):
    assert_lowered(WRITTEN[name], some(2, 4))
    if name != "flat":
        assert_lowered(WRITTEN[name], some(SAMPLES, 4), batch=[0])


@pytest.mark.parametrize("name", ["part", "entry", "joined", "of each its own"])
def test_of_parts_of_a_loop(name):
    with pytest.raises(NotLoweredError, match="long dimension"):
        assert_lowered(WRITTEN[name], some(2, 6))
    assert_lowered(WRITTEN[name], some(2, 6), longest=math.inf)


CUT = {
    "part": lambda a, b: a[:, 1:7] * 2,
    "entry": lambda a, b: a[:, 3] * 2 - b[:, -1],
    "every second": lambda a, b: a[:, ::2] * b[:, :-1:2].sum(1, keepdim=True) + b[:, ::2],
    "pairs": lambda a, b: a[:, 1::2] * b[:, ::2][:, 1:] - torch.cat([a, b], 1)[:, 2::4],
    "parts that overlap": lambda a, b: a[:, 0:7] * a[:, 2:9] + b[:, 2:],
    "split": lambda a, b: a.split(6, 1)[1] - a.split(6, 1)[0][:, :3],
    "joined": lambda a, b: torch.cat([a, b, a], 1) * 2,
    "joined, cut elsewhere": lambda a, b: torch.cat([a, b], 1)[:, 4:12] * a[:, 1:],
    "joined along the other": lambda a, b: torch.cat([a, b], 0)[:, 2:8] * 2,
    "other parts": lambda a, b: torch.cat([a, b], 1) * torch.cat([b[:, :3], a, b[:, 3:]], 1),
    "with one for all": lambda a, b: torch.cat([a, b], 1) * a[:, :1] + a.sum(1, keepdim=True),
    "sum": lambda a, b: torch.cat([a, b], 1).sum(1),
    "product": lambda a, b: torch.cat([a, b[:, :5]], 1).prod(1),
    "softmax": lambda a, b: torch.cat([a, b], 1).softmax(-1),
    "matrix product": lambda a, b: torch.cat([a, b], 1) @ torch.cat([b, a], 1).mT,
    "turned sum": lambda a, b: torch.cat([a, b], 1).mT @ a + torch.cat([b, a], 1).mT @ b,
    "of a square": lambda a, b: (a.mT @ b)[2:8, 1:7] + (a.mT @ b)[1:7, 2:8].mT,
    "of one dimension": lambda a, b: torch.cat([a[0], b[1]])[2:15:2] * a[0, 1:8],
    "activations": lambda a, b: torch.cat([a[:, :4], b[:, :5].sin(), a[:, 4:] * b[:, :5]], 1),
}
"""Dimensions of nine numbers, which are loops, that are cut and joined."""


@pytest.mark.parametrize("name", CUT)
def test_loops_that_are_cut_and_joined(name):
    a, b = some(2, 9), some(2, 9, seed=1)
    assert_lowered(CUT[name], a, b, cuts=True)
    if name not in {"joined along the other", "joined twice", "matrix product", "of one dimension"}:
        assert_lowered(
            CUT[name], some(SAMPLES, 9), some(SAMPLES, 9, seed=1), batch=[0, 1], cuts=True
        )


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", [name for name in CUT if name != "product"])
def test_gradients_of_loops_that_are_cut_and_joined(name, which):
    a, b = some(2, 9), some(2, 9, seed=1)
    g = some(*CUT[name](a, b).shape, seed=2)

    def gradient(a, b, g):
        leaves = [x.detach().requires_grad_() for x in (a, b)]
        found = torch.autograd.grad((CUT[name](*leaves) * g).sum(), leaves, allow_unused=True)
        return torch.zeros_like(a) if found[which] is None else found[which]

    assert_lowered(gradient, a, b, g, cuts=True)


def test_samples_are_not_cut():
    with pytest.raises(NotLoweredError, match="long dimension"):
        assert_lowered(lambda x: x[1:3] * 2, some(SAMPLES, 9), batch=[0], cuts=True)


OF_TWO = {
    **{n: getattr(torch, n) for n in ("add", "sub", "mul", "div", "minimum", "maximum")},
    "power": lambda a, b: a.abs() ** b,
    "angle": torch.atan2,
    "add with a factor": lambda a, b: torch.add(a, b, alpha=3),
    "addcmul": lambda a, b: torch.addcmul(a, a, b, value=2),
    "addcdiv": lambda a, b: torch.addcdiv(a, a, b, value=2),
    **{n: lambda a, b, n=n: getattr(torch, n)(a, b).double() for n in ("lt", "le", "eq", "ge")},
}


@pytest.mark.parametrize("shapes", [((2, 6), (6,)), ((7, 1), (1, 6)), ((6, 6), (6,)), ((), (2, 6))])
@pytest.mark.parametrize("name", OF_TWO)
def test_broadcasting(name, shapes):
    one, two = (some(*shape, seed=k) for k, shape in enumerate(shapes))
    assert_lowered(OF_TWO[name], one, two)
    assert_lowered(OF_TWO[name], two, one)


@pytest.mark.parametrize("inner", [1, 3, 6])
@pytest.mark.parametrize("outer", [1, 2, 6])
def test_matrix_products(inner, outer):
    x, w = some(SAMPLES, inner), some(inner, outer, seed=1)
    bias = some(outer, seed=2)
    assert_lowered(torch.matmul, x, w, batch=[0])
    assert_lowered(lambda x, w, b: torch.addmm(b, x, w), x, w, bias, batch=[0])
    # Gradients: of the weights a sum over the samples, of the inputs one over the outputs.
    grad = some(SAMPLES, outer, seed=3)
    assert_lowered(lambda x, g: x.mT @ g, x, grad, batch=[0, 1])
    assert_lowered(lambda g, w: g @ w.mT, grad, w, batch=[0])


def test_square_matrices_that_are_turned():
    a, b = some(6, 6), some(6, 6, seed=1)
    assert_lowered(lambda a, b: a + b.mT, a, b)
    assert_lowered(lambda a, b: a @ b, a, b)
    assert_lowered(lambda a, b: a.mT @ b @ a, a, b)
    assert_lowered(lambda a, b: a.unsqueeze(0) * b.unsqueeze(1), a, b)
    assert_lowered(lambda a: a + a.mT + a.sum(0) * a.sum(1), a)


GRADIENTS = (
    *("tanh", "sigmoid", "relu", "elu", "selu", "silu", "softplus", "hardtanh", "leaky_relu"),
    *("gelu", "gelu by tanh", "layer norm"),
    *("sinh", "erf", "softmax -1", "log softmax", "sum 0", "times the last entry"),
)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    function = {**OF_ONE, **WRITTEN}[name]

    def gradient(x, g):
        leaf = x.detach().requires_grad_()
        return torch.autograd.grad((function(leaf) * g).sum(), leaf)[0]

    x = some(SAMPLES, 3)
    g = some(3, seed=1)
    assert_lowered(gradient, x, g)


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("inner", [3, 6])
def test_gradients_of_a_layer_norm(inner, which):
    def gradient(x, w, b, g):
        leaves = [one.detach().requires_grad_() for one in (x, w, b)]
        y = F.layer_norm(leaves[0], (inner,), leaves[1], leaves[2], 0.1)
        return torch.autograd.grad((y * g).sum(), leaves[which])[0]

    x, g = some(SAMPLES, inner), some(SAMPLES, inner, seed=1)
    w, b = some(inner, seed=2), some(inner, seed=3)
    assert_lowered(gradient, x, w, b, g, batch=[0, 3])


def test_an_operation_that_is_not_known_is_named():
    with pytest.raises(NotLoweredError, match="operation erfinv"):
        assert_lowered(torch.erfinv, some(2, 3))
    with pytest.raises(NotLoweredError, match="rounding_mode floor"):
        assert_lowered(lambda x: torch.div(x, 2, rounding_mode="floor"), some(2, 3))


def _written_in_part(x):
    y = x.clone()
    y[:, 0] = 0
    return y


def _written_under_a_view(x):
    y = x.clone()
    flat = y.view(-1)
    y.mul_(2)
    return flat


REFUSED = {
    "random numbers": (lambda x: x + torch.rand(3), "operation rand"),
    "a branch": (
        lambda x: x if x.sum() > 0 else -x,
        r"numbers of a tensor \(test_lower.py, line \d+: .*sum",
    ),
    "whole numbers": (lambda x: x.long() + x, "rounded to int64"),
    "half precision": (lambda x: x.half() + x, "rounded to float16"),
    "a write into a part": (_written_in_part, "part of others"),
    "a write under a view": (_written_under_a_view, "part of others"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_lowered_wrongly_is_refused(name):
    function, reason = REFUSED[name]
    with pytest.raises(NotLoweredError, match=reason):
        assert_lowered(function, some(2, 3))


def test_a_write_in_place():
    assert_lowered(lambda x: x.clone().mul_(2) + x, some(2, 3))
