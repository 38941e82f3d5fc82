"""Operations that compiled code leaves to torch, so that they round as in plain iterations.

A compiler sums in an order of its own and has its own exponential. Only the last bit differs, but
where gradients nearly cancel, training amplifies that until runs are solved at another step. Sums,
products and comparisons of single elements round alike either way. Sums over a batch, matrix
products, norms and transcendental functions do not, and are called here, on tensors laid out as
plain training has them.

Their arguments are tensors and single numbers. Those with lists would make torch include headers
into the code that calls them which take the compiler longer than all the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

_library = torch.library.Library("stable_nalu", "DEF")


def _laid_out(x: torch.Tensor) -> torch.Tensor:
    """Return x in the layout of plain training, which decides on the order of a sum.

    Contiguous is not enough: strides of dimensions of length one are anything then, and the choice
    of a matrix product depends on them.
    """
    return x.contiguous().view(-1).view(x.shape)


def _turned(x: torch.Tensor) -> torch.Tensor:
    return x.mT.clone(memory_format=torch.contiguous_format)


def _product(x: torch.Tensor, *rest) -> torch.Tensor:
    x_layout, y, y_layout = rest[:6], rest[6], rest[7:]
    matrices = [(x, x_layout), (y, y_layout)]
    return torch.bmm(*(numbers.as_strided(at[:3], at[3:]) for numbers, at in matrices))


def _wide_product(x: torch.Tensor, W: torch.Tensor) -> torch.Tensor:
    return _turned(torch.bmm(x, W.mT))


def _wide_gradient(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    return _turned(torch.bmm(x.mT, _turned(rows)))


def as_bits(dims: Iterable[int], ndim: int) -> int:
    """Return the dimensions, some of `ndim`, as one number."""
    return sum(1 << (dim % ndim) for dim in dims)


def _dims(bits: int) -> list[int]:
    return [dim for dim in range(bits.bit_length()) if bits >> dim & 1]


def _sum(x: torch.Tensor, dims: int, keepdim: bool) -> torch.Tensor:
    return x.sum(_dims(dims), keepdim=keepdim)


def _norm(x: torch.Tensor, order: float, dims: int, keepdim: bool) -> torch.Tensor:
    return torch.linalg.vector_norm(x, order, _dims(dims), keepdim)


def _define(signature: str, function: Callable) -> None:
    """Define an operation; operations.cpp replaces it on the CPU for real numbers, where it can.

    The compiler calls `function` with tensors without data, to learn what shapes result.
    """

    def on_contiguous(function: Callable) -> Callable:
        return lambda *arguments: function(
            *(_laid_out(a) if isinstance(a, torch.Tensor) else a for a in arguments)
        )

    name = signature.split("(")[0]
    _library.define(signature)
    _library.impl(name, on_contiguous(function), "CompositeExplicitAutograd")


_define("sum(Tensor x, int dims, bool keepdim) -> Tensor", _sum)
_define("norm(Tensor x, float order, int dims, bool keepdim) -> Tensor", _norm)
_X_LAYOUT, _Y_LAYOUT = (", ".join(f"int {name}{k}" for k in range(6)) for name in "xy")
_define(f"product(Tensor x, {_X_LAYOUT}, Tensor y, {_Y_LAYOUT}) -> Tensor", _product)
_define("turned(Tensor x) -> Tensor", _turned)
_define("wide_product(Tensor x, Tensor W) -> Tensor", _wide_product)
_define("wide_gradient(Tensor x, Tensor rows) -> Tensor", _wide_gradient)
_define("row_sum(Tensor x, int lanes) -> Tensor", lambda x, lanes: x.flatten(1).sum(1))
_define("power(Tensor x, Tensor exponent) -> Tensor", torch.pow)
_define("tanh_backward(Tensor grad, Tensor y) -> Tensor", torch.ops.aten.tanh_backward)
for _function in (torch.exp, torch.log, torch.cos, torch.sin, torch.tanh, torch.sigmoid):
    _define(f"{_function.__name__}(Tensor x) -> Tensor", _function)

plain = torch.ops.stable_nalu
"""The operations: `sum`, `norm`, `power`, `tanh_backward`, the functions of one tensor in
`PLAIN_FUNCTIONS`, and two more. `product` multiplies matrices whose numbers come in the order of
memory, each followed by three sizes and three strides. `turned` exchanges the last two dimensions
in memory too, so that compiled code reads neighbouring numbers. Dimensions are given `as_bits`."""

PLAIN_FUNCTIONS = frozenset({"exp", "log", "cos", "sin", "tanh", "sigmoid"})
