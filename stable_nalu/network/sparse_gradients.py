"""Layers that ignore most of what they compute, and gradients that visit nothing else.

    pooled_convolution: y = relu(max_pool2d(conv2d(x, W, bias), 2))
    rectified_linear:   y = relu(x W^T + bias)

Of four outputs of a convolution, three have no gradient, nor do outputs that the ReLU or a dropout
behind it sets to 0. Compiled code (`sparse_gradients.cpp`) makes an eighth of autograd's
multiplications, or a half without pooling. Its gradients equal autograd's up to rounding. It also
convolves images of one channel, because their outputs take longer to write and to read than to
compute. Other convolutions are torch's, in its quickest layout, with channels side by side.
"""

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from torchlanes.kept import library_of

SOURCE = Path(__file__).with_suffix(".cpp")
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-std=c++17", "-shared", "-fPIC")
LANES = 16
MOST_KERNELS, LONGEST_ROW = 4 * LANES, 8 * LANES
"""What fits into the registers of a processor: kernels of one channel, and rows of kernels."""


class _Pooled(ctypes.Structure):
    """Sizes and tensors, as in sparse_gradients.cpp."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("images", "height", "width", "channels")),
        *((name, ctypes.c_int64) for name in ("kernels", "size")),
        *((name, ctypes.c_void_p) for name in ("x", "maxima", "choices")),
    )


def pooled_convolution(x: torch.Tensor, W: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Return y of x `(images, channels, height, width)`; its channels lie side by side."""
    kernels, channels, size, width = W.shape
    row = size * (size if channels == 1 else channels)
    fits = row <= LONGEST_ROW and LANES <= kernels <= (MOST_KERNELS if channels == 1 else kernels)
    fits &= size == width <= LANES and min(x.shape[2:]) > size
    fits &= bias is not None and not (channels == 1 and x.requires_grad)
    if fits and _suits(x, W):
        return _PooledConvolution.apply(x, W, bias)  # pyright: ignore[reportReturnType]
    if _is_of_processor(x):
        x = _side_by_side(x)
    return torch.relu(functional.max_pool2d(functional.conv2d(x, W, bias), 2))


def rectified_linear(x: torch.Tensor, W: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return y of x `(samples, inputs)`."""
    if W.shape[1] % LANES == 0 and _suits(x, W):
        return _RectifiedLinear.apply(x, W, bias)  # pyright: ignore[reportReturnType]
    return torch.relu(functional.linear(x, W, bias))


def _suits(x: torch.Tensor, W: torch.Tensor) -> bool:
    return _is_of_processor(x) and _is_of_processor(W) and library() is not None


def _is_of_processor(x: torch.Tensor) -> bool:
    return x.dtype == torch.float32 and not x.is_cuda


class _PooledConvolution(torch.autograd.Function):
    """Both directions; images of one channel have no gradient."""

    @staticmethod
    def forward(ctx: Any, x, W, bias):
        own: Any = library()
        x = _side_by_side(x)
        rows, columns = ((length - W.shape[-1] + 1) // 2 for length in x.shape[2:])
        maxima = x.new_empty(len(x), rows, columns, len(W))
        choices = torch.empty_like(maxima, dtype=torch.int32)
        sizes = _Pooled(len(x), *x.shape[2:], *W.shape[1::-1], W.shape[-1], x.data_ptr())
        found = maxima.data_ptr(), choices.data_ptr()
        if x.shape[1] == 1:
            weights = torch.cat((bias.unsqueeze(0), W.flatten(1).t()))
            weights = functional.pad(weights, (0, -len(W) % LANES)).contiguous()
            own.convolve_one_channel(sizes, weights.data_ptr(), *found)
        else:
            outputs = _side_by_side(functional.conv2d(x, W, bias))
            own.keep_maxima(sizes, outputs.data_ptr(), *found)
        ctx.save_for_backward(x, W, maxima, choices)
        return maxima.permute(0, 3, 1, 2)

    @staticmethod
    def backward(ctx: Any, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        own: Any = library()
        x, W, maxima, choices = ctx.saved_tensors
        kernels, channels, size, _ = W.shape
        # Rows of kernels, whose numbers lie as those of images do.
        rows, row = (size, size * channels) if channels > 1 else (1, size * size)
        of_rows = W.new_zeros(kernels, rows, row + -row % LANES)
        of_bias = W.new_zeros(kernels)
        weights = of_x = None
        if ctx.needs_input_grad[0]:
            of_x = torch.empty_like(x)
            laid = W.permute(2, 0, 3, 1).flatten(2)
            weights = functional.pad(laid, (0, -row % LANES)).contiguous()
        known = x.data_ptr(), maxima.data_ptr(), choices.data_ptr()
        sizes = _Pooled(len(x), *x.shape[2:], channels, kernels, size, *known)
        # Named, so that their memory is not freed while it is read.
        tensors = (_side_by_side(gradient), weights, of_x, of_rows, of_bias)
        own.pooled_gradients(sizes, *(None if t is None else t.data_ptr() for t in tensors))
        of_W = of_rows[..., :row].reshape(kernels, size, size, channels)
        return of_x, of_W.permute(0, 3, 1, 2).contiguous(), of_bias


class _RectifiedLinear(torch.autograd.Function):
    """Forward as torch does it, and gradients of what is above 0."""

    @staticmethod
    def forward(ctx: Any, x, W, bias):
        x, W = x.contiguous(), W.contiguous()
        y = functional.linear(x, W, bias).relu_()
        ctx.save_for_backward(x, W, y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        own: Any = library()
        x, W, y = ctx.saved_tensors
        of_x, of_W, of_bias = torch.empty_like(x), torch.empty_like(W), W.new_zeros(len(W))
        tensors = (x, W, y, gradient.contiguous(), of_x, of_W, of_bias)
        own.rectified_gradients(*x.shape, len(W), *(t.data_ptr() for t in tensors))
        return of_x, of_W, of_bias


def _side_by_side(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous(memory_format=torch.channels_last)


@cache
def library() -> ctypes.CDLL | None:
    """Return the compiled code, or None where it cannot be compiled."""
    try:
        found = ctypes.CDLL(str(library_of(SOURCE.read_text(), FLAGS)))
        address, number, pooled = ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(_Pooled)
        found.keep_maxima.argtypes = [pooled, *[address] * 3]
        found.convolve_one_channel.argtypes = [pooled, *[address] * 3]
        found.pooled_gradients.argtypes = [pooled, *[address] * 5]
        found.rectified_gradients.argtypes = [*[number] * 3, *[address] * 7]
    except Exception:  # whatever keeps it from being compiled, torch gives the same up to rounding
        return None
    return found
