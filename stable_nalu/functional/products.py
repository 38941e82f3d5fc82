"""Products of matrices with the numbers of torch, in less time where C++ is loaded.

Torch leaves them to MKL, which this package keeps from choosing the order of its sums by the
processor (see `stable_nalu/__init__.py`): then MKL takes vectors of four numbers. The order is a
simple one, and `native/products.cpp` follows it with vectors of sixteen or eight: on an AMD EPYC of
2.6 GHz, 40 to 70 operations in a nanosecond instead of 20 to 36.
"""

from __future__ import annotations

from functools import cache

import torch

from stable_nalu import native

SMALLEST = 20_000
"""Products of numbers, summed over runs, from which a call pays that C++ is asked first."""
OUTPUTS = 8
"""Outputs come in so many, and inputs are as many at least: for others there are more orders."""
MOST_THREADS = 2
"""Threads with which torch takes as long by the clock as C++ does with one."""
COMPARED_RUNS = 2


def product(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Return a b + bias of matrices, or of one of each run; by C++ where no gradient is recorded.

    Shapes: a `(*runs, rows, inputs)`, b `(*runs, inputs, outputs)`, bias `(*runs, 1, outputs)`.
    """
    recorded = torch.is_grad_enabled() and (a.requires_grad or b.requires_grad)
    by_cpp = not recorded and is_done_by_cpp(a, b, bias)
    return _by_cpp(a, b, bias) if by_cpp else _by_torch(a, b, bias)


def is_done_by_cpp(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None) -> bool:
    """Return whether C++ is loaded, faster, and gives torch's numbers; it records no gradient."""
    if native.library() is None or a.ndim != b.ndim or not 2 <= a.ndim <= 3:
        return False
    rows, inputs, outputs = a.shape[-2], a.shape[-1], b.shape[-1]
    return (
        a.numel() * outputs >= SMALLEST
        and outputs % OUTPUTS == 0
        and inputs >= OUTPUTS
        and rows > 1
        and a.dtype == b.dtype == torch.float32
        and a.shape[:-2] == b.shape[:-2]
        and not (a.is_cuda or b.is_cuda)
        # Where operations are recorded, this one would not be seen.
        and not torch._C._len_torch_dispatch_stack()
        and torch.get_num_threads() <= MOST_THREADS
        and (turned := (_is_turned(a), _is_turned(b))).count(None) == 0
        and _agrees(
            min(len(a), COMPARED_RUNS) if a.ndim > 2 else 0,
            (rows, inputs, outputs),
            turned,
            bias is not None,
            torch.get_num_threads(),
        )
    )


def _is_turned(matrices: torch.Tensor) -> bool | None:
    """Return whether columns adjoin in memory instead of rows; None if neither do."""
    row, column = matrices.stride()[-2:]
    return False if column == 1 else True if row == 1 else None


@cache
def _agrees(
    runs: int,
    sizes: tuple[int, int, int],
    turned: tuple[bool, bool],
    biased: bool,  # noqa: FBT001
    threads: int,  # noqa: ARG001
) -> bool:
    """Return whether C++ is faster and torch sums products of these sizes in the same order."""
    library = native.library()
    assert library is not None
    if not library.multiplies_faster():
        return False
    rows, inputs, outputs = sizes
    generator = torch.Generator().manual_seed(0)
    leading = (runs,) if runs else ()

    def drawn(height: int, width: int, is_turned: bool) -> torch.Tensor:
        shape = (width, height) if is_turned else (height, width)
        numbers = torch.rand(*leading, *shape, dtype=torch.float32, generator=generator) - 0.5
        return numbers.mT if is_turned else numbers

    a, b = drawn(rows, inputs, turned[0]), drawn(inputs, outputs, turned[1])
    bias = drawn(1, outputs, False) if biased else None
    return torch.equal(_by_cpp(a, b, bias), _by_torch(a, b, bias))


def _by_torch(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    if bias is None:
        return a @ b
    return torch.addmm(bias, a, b) if a.ndim == 2 else torch.baddbmm(bias, a, b)


def _by_cpp(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    library = native.library()
    assert library is not None
    runs, rows, inputs = a.shape if a.ndim > 2 else (1, *a.shape)
    outputs = b.shape[-1]
    y = a.new_empty(*a.shape[:-1], outputs)
    if bias is not None:
        y.copy_(bias)
    strides = (a.stride(), b.stride()) if a.ndim > 2 else ((0, *a.stride()), (0, *b.stride()))
    x, w = ((m.data_ptr(), *of_m) for m, of_m in zip((a, b), strides, strict=True))
    library.multiply_matrices(*x, *w, runs, rows, inputs, outputs, bias is not None, y.data_ptr())
    return y
