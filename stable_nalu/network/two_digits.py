"""Networks that answer images of two digits: a reader of digits and a last layer.

They learn from answers alone, not from labels. A reader ends in an expectation: the digits,
weighted by a softmax over its logits; where digits lie anywhere, spatial transformers find them.
The last layer maps digits (batch, 2) to answers (batch, 1). It is the operation itself, a plain
layer that has to learn it, or an arithmetic unit.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import torch
from torch import nn
from torch.nn import functional

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer import entries
from stable_nalu.layer.nau_nmu import (
    ConcatReciprocalNMUSignRetrievalLayer,
    NAULayer,
    NMULayer,
    ReciprocalNMULayer,
    nmu_init_,
)
from stable_nalu.layer.npu import RealNPULayer
from stable_nalu.layer.registry import GeneralizedLayer

from .sparse_gradients import pooled_convolution, rectified_linear


class TwoDigitNetwork(ExtendedTorchModule):
    """A network that maps images (batch, channels, height, width) to answers (batch, 1).

    Parts are built here, reader first, because parameters are drawn in that order. All are drawn
    twice, by their constructors and by the reset that follows; networks train on the second draw.

    identity_start: transformers begin with the identity. Without it the reset gives their last
    layers ordinary values, as in published runs, although their constructors set the identity.
    """

    def __init__(
        self,
        build_reader: Callable[[], nn.Module],
        build_answer: Callable[[], nn.Module],
        digits: Sequence[int],
        *,
        argmax: bool = False,
        identity_start: bool = False,
    ):
        super().__init__("network")
        self.identity_start = identity_start
        self.reader = build_reader()
        self.expected = ExpectedDigit(digits, argmax=argmax)
        self.answer = build_answer()

    def reset_parameters(self) -> None:
        _reset(self.reader)
        _reset(self.answer)
        for module in self.reader.modules() if self.identity_start else ():
            if isinstance(module, AffineTransform):
                module.start_at_identity()

    def digits(self, x: torch.Tensor) -> torch.Tensor:
        return self.expected(self.reader(x))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.answer(self.digits(x))


def _reset(module: nn.Module) -> None:
    """Draw the parameters of all modules below again, in order of registration."""
    reset = getattr(module, "reset_parameters", None)
    if reset is not None:
        reset()
        return
    for child in module.children():
        _reset(child)


class ExpectedDigit(nn.Module):
    """The expectation sum_k k p_k of logits (..., digits).

    With `argmax` it is the most probable digit in evaluation.
    """

    digits: torch.Tensor

    def __init__(self, digits: Sequence[int], *, argmax: bool = False):
        super().__init__()
        self.argmax = argmax
        self.temperature = 1.0
        self.register_buffer("digits", torch.tensor(digits, dtype=torch.float32), persistent=False)

    def forward(self, logits: torch.Tensor) -> torch.Tensor:
        if self.argmax and not self.training:
            return self.digits[logits.argmax(-1)]
        return (logits / self.temperature).softmax(-1) @ self.digits


class ConvHead(nn.Sequential):
    """Two 3x3 convolutions, the second pooled, and two linear layers with `flat` features between.

    Parts have the places of published state dictionaries. ReLU and pooling commute.
    """

    def __init__(self, channels: int, flat: int, outputs: int):
        super().__init__(
            nn.Conv2d(channels, 32, 3),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Dropout(0.25),
            nn.Flatten(),
            nn.Linear(flat, 128),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(128, outputs),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, _, second, *_, dense, _, _, _ = cast("Any", self)
        if first.in_channels == 1:
            # The strides of channels side by side, which torch's convolution goes by.
            x = x.contiguous()
            x = x.as_strided(x.shape, (x.stride(0), 1, x.stride(2), 1))
        else:
            x = x.contiguous(memory_format=torch.channels_last)
        h = pooled_convolution(first(x).relu_(), second.weight, second.bias)
        # Dropout draws in the order of memory.
        h = self[5](h.contiguous())
        h = rectified_linear(self[6](h), dense.weight, dense.bias)
        return self[10](self[9](h))


class HalvesReader(nn.Module):
    """A reader of images (batch, 1, 28, 56), with one head for both halves.

    It returns logits (batch, 2, digits).
    """

    def __init__(self, digits: int):
        super().__init__()
        self.head = ConvHead(1, 9216, digits)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        halves = torch.cat(x.chunk(2, dim=-1))
        return torch.stack(self.head(halves).chunk(2), dim=1)


class TransformingReader(nn.Module):
    """Two spatial transformers, one per digit, and a classifier of what they show.

    The classifier is registered before the transformers, and so initialised before them.
    """

    def __init__(self, classifier: nn.Module, transforms: "Sequence[AffineTransform]"):
        super().__init__()
        self.classifier = classifier
        self.transforms = nn.ModuleList(transforms)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(*(functional.avg_pool2d(t(x), 2) for t in self.transforms))


class JointClassifier(nn.Module):
    """A classifier of both views together, which returns logits (batch, 2, 10)."""

    def __init__(self, body: nn.Module):
        super().__init__()
        self.body = body

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return self.body(torch.cat((first, second), dim=1)).unflatten(-1, (2, 10))


class ApartClassifier(nn.Module):
    """A classifier of each view by itself, which returns logits (batch, 2, 10).

    The views share a `body`. heads: a module per view, or none where the body is all.
    """

    def __init__(self, body: nn.Module, heads: Sequence[nn.Module] = ()):
        super().__init__()
        self.body = body
        self.heads = nn.ModuleList(heads or (nn.Identity(), nn.Identity()))

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        views = zip(self.heads, (first, second), strict=True)
        return torch.stack([head(self.body(view)) for head, view in views], dim=1)


def linear_body(*widths: int) -> nn.Sequential:
    """Return linear layers with ReLU between them, for flattened inputs."""
    layers: list[nn.Module] = [nn.Flatten()]
    for before, after in zip(widths, widths[1:], strict=False):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


READERS: dict[str, Callable[[], nn.Module]] = {
    "concat": lambda: JointClassifier(linear_body(1764, 200, 128, 20)),
    "no-concat-linear": lambda: ApartClassifier(
        nn.Sequential(linear_body(882, 200, 128), nn.ReLU()),
        [nn.Linear(128, 10), nn.Linear(128, 10)],
    ),
    "no-concat-conv": lambda: ApartClassifier(ConvHead(2, 4096, 10)),
    "concat-conv": lambda: JointClassifier(ConvHead(4, 4096, 20)),
    "no-concat-indep-conv": lambda: ApartClassifier(
        nn.Identity(), [ConvHead(2, 4096, 10), ConvHead(2, 4096, 10)]
    ),
    "width-no-concat-conv": lambda: ApartClassifier(ConvHead(1, 9728, 10)),
    "TPS-no-concat-conv": lambda: ApartClassifier(ConvHead(2, 4096, 10)),
}
"""Network that reads scattered digits -> how its classifier is made."""


def build_reader(name: str, *, unbounded: bool = False) -> TransformingReader:
    """Return a network of `READERS`; `unbounded` lets control points of splines leave the image."""
    classifier = READERS[name]()
    transform = partial(AffineTransform, *(1, 1200) if name.startswith("width") else (2, 320))
    if name.startswith("TPS"):
        transform = partial(SplineTransform, 2, 320, unbounded=unbounded)
    return TransformingReader(classifier, [transform(), transform()])


SPAN = 0.9
SIDE = 4
IMAGE_SIZE = 42


class AffineTransform(nn.Module):
    """A localiser and the sampling it controls, a 2x3 matrix; the output has the input's shape."""

    def __init__(self, channels: int, flat: int, numbers: int = 6):
        super().__init__()
        self.localiser = nn.Sequential(
            nn.AvgPool2d(2, 2),
            nn.Conv2d(channels, 20, 5),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(20, 20, 5),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(flat, 32),
            nn.ReLU(),
        )
        self.last = nn.Linear(32, numbers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        grid = self.grid(self.last(self.localiser(x)), x)
        # Sampled with the corners half a pixel outside, whatever the grid was made with.
        return functional.grid_sample(x, grid, align_corners=False)

    def grid(self, numbers: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Return where to sample: (batch, height, width, 2) as (x, y)."""
        matrix = numbers.unflatten(-1, (2, 3))
        return functional.affine_grid(matrix, list(x.shape), align_corners=False)

    def identity(self) -> torch.Tensor:
        """Return the numbers of the grid that shows the input as it is."""
        return torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0, 0.0])

    def start_at_identity(self) -> None:
        """Make the localiser answer with the identity for every image."""
        with torch.no_grad():
            self.last.weight.zero_()
            self.last.bias.copy_(self.identity())


def square_grid(span: float, side: int) -> torch.Tensor:
    """Return a grid (side * side, 2) of (x, y) in [-span, span], row by row."""
    line = torch.linspace(-span, span, side, dtype=torch.float64)
    y, x = torch.meshgrid(line, line, indexing="ij")
    return torch.stack((x.flatten(), y.flatten()), -1)


def spline_features(places: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
    """Return rows [U(|q - t_1|), ..., U(|q - t_K|), 1, x, y] of places (n, 2): (n, K + 3)."""
    squared = ((places[:, None] - points[None]) ** 2).sum(-1)
    kernel = 0.5 * torch.xlogy(squared, squared)
    return torch.cat((kernel, torch.ones_like(places[:, :1]), places), dim=1)


def spline_system(points: torch.Tensor) -> torch.Tensor:
    """Return the matrix of the equations of `warp_matrix`, (K + 3, K + 3)."""
    rows = spline_features(points, points)
    below = rows[:, len(points) :].T
    return torch.cat((rows, torch.cat((below, below.new_zeros(3, 3)), dim=1)))


def warp_matrix(places: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
    """Return the matrix (n, K) that maps sources (K, 2) of points to sources of places.

    A thin-plate spline is the smoothest warp that moves given points. With points t_k and
    U(r) = r^2 ln r, it is q -> sum_k c_k U(|q - t_k|) + a + B q. Its coefficients for sources s_k
    of the points solve

        [ A   1   P ] [ c   ]   [ s ]
        [ 1'  0   0 ] [ a   ] = [ 0 ],    A_kl = U(|t_k - t_l|),  P_k = t_k
        [ P'  0   0 ] [ B'  ]   [ 0 ]

    so the warped place of every fixed q is linear in the sources.
    """
    inverse = torch.linalg.inv(spline_system(points))
    return spline_features(places, points) @ inverse[:, : len(points)]


class SplineTransform(AffineTransform):
    """A thin-plate spline with 4x4 control points over an image of 42x42 pixels.

    The localiser gives the sources of the points; tanh keeps them in the image, unless unbounded.
    """

    warp: torch.Tensor

    def __init__(self, channels: int, flat: int, *, unbounded: bool = False):
        super().__init__(channels, flat, 2 * SIDE * SIDE)
        self.unbounded = unbounded
        self._points = square_grid(SPAN, SIDE)
        warp = warp_matrix(square_grid(1, IMAGE_SIZE), self._points)
        self.register_buffer("warp", warp.to(torch.get_default_dtype()), persistent=False)

    def grid(self, numbers: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        sources = (numbers if self.unbounded else numbers.tanh()).unflatten(-1, (-1, 2))
        return (self.warp @ sources).unflatten(1, (IMAGE_SIZE, IMAGE_SIZE))

    def identity(self) -> torch.Tensor:
        points = self._points.flatten()
        return points if self.unbounded else points.atanh()


class FixedOperation(nn.Module):
    """The operation itself, without anything to learn."""

    def __init__(self, operation: str):
        super().__init__()
        self.operation = operation

    def forward(self, digits: torch.Tensor) -> torch.Tensor:
        return getattr(torch, self.operation)(*digits.split(1, dim=-1))


class ScaledProduct(nn.Module):
    """The product (w_0 z_0)(w_1 z_1), which depends on the product of its weights alone."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(1, 2))

    def reset_parameters(self) -> None:
        """Draw uniformly around 0.5, as the NMU does."""
        nmu_init_(self.weight)

    def forward(self, digits: torch.Tensor) -> torch.Tensor:
        return (self.weight * digits).prod(-1, keepdim=True)


_PLAIN: dict[str, Callable[[], nn.Module]] = {
    "add": lambda: nn.Linear(2, 1, bias=False),
    "mul": ScaledProduct,
    "div": lambda: nn.Sequential(
        nn.Linear(2, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1)
    ),
}
_START = "xavier-uniform-constrained"
_UNITS = {
    "add": (NAULayer, ("beta_nau", "nau_noise"), {}),
    "mul": (NMULayer, ("nmu_noise", "noise_range"), {}),
    "realnpu-mod": (
        RealNPULayer,
        ("regualizer_npu_w", "regualizer_gate"),
        {"npu_clip": "wg", "npu_Wr_init": _START},
    ),
    "nru": (ReciprocalNMULayer, ("beta_nau",), {}),
    "nmru-sign": (ConcatReciprocalNMUSignRetrievalLayer, ("nmu_noise", "noise_range"), {}),
}
"""Operation, or unit that divides -> its layer, the options it takes, and others that it has."""
_RANGED = {"nac_oob": "clip", "regualizer_shape": "linear"}
DIVIDERS = ("realnpu-mod", "nru", "nmru-sign")
"""Units that divide, in the order in which the help names them."""


def build_answer(
    operation: str, *, learned: bool, unit: bool, divider: str = "", **options: Any
) -> nn.Module:
    """Return the last layer, with parameters if `learned`, of an arithmetic unit if `unit`."""
    if not unit:
        return _PLAIN[operation]() if learned else FixedOperation(operation)
    if divider in entries():
        return GeneralizedLayer(2, 1, divider, **options)
    layer, names, own = _UNITS[divider if operation == "div" else operation]
    taken = {name: options[name] for name in names if name in options}
    return layer(2, 1, **taken, **(own or _RANGED))


def two_weights(answer: nn.Module) -> torch.Tensor | None:
    """Return the weights of the two digits, where there is one weight for each."""
    W = getattr(answer, "W", getattr(answer, "weight", None))
    return W.flatten() if W is not None and W.numel() == 2 else None
