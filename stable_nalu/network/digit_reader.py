"""Networks that read two digits from images; they learn from answers alone, not from labels.

Each ends in an expectation: the digits, weighted by a softmax over its logits.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from stable_nalu.functional.sparse_gradients import pooled_convolution, rectified_linear

from .spatial_transformer import AffineTransform, SplineTransform, Transform, pooled


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
        first, second, dense = self[0], self[2], self[7]
        assert isinstance(first, nn.Conv2d)
        assert isinstance(second, nn.Conv2d)
        assert isinstance(dense, nn.Linear)
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

    def __init__(self, classifier: nn.Module, transforms: Sequence[Transform]):
        super().__init__()
        self.classifier = classifier
        self.transforms = nn.ModuleList(transforms)

    def views(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Return what each transformer shows: images of the shape of x."""
        return [transform(x) for transform in self.transforms]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(*map(pooled, self.views(x)))

    def start_at_identity(self) -> None:
        """Let each transformer show its input as it is."""
        for transform in self.transforms:
            assert isinstance(transform, Transform)
            transform.start_at_identity()


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


def build_classifier(name: str) -> nn.Module:
    """Return the classifier of a network of `READERS`."""
    match name:
        case "concat":
            return JointClassifier(linear_body(1764, 200, 128, 20))
        case "no-concat-linear":
            body = nn.Sequential(linear_body(882, 200, 128), nn.ReLU())
            return ApartClassifier(body, [nn.Linear(128, 10), nn.Linear(128, 10)])
        case "no-concat-conv" | "TPS-no-concat-conv":
            return ApartClassifier(ConvHead(2, 4096, 10))
        case "concat-conv":
            return JointClassifier(ConvHead(4, 4096, 20))
        case "no-concat-indep-conv":
            heads = [ConvHead(2, 4096, 10), ConvHead(2, 4096, 10)]
            return ApartClassifier(nn.Identity(), heads)
        case "width-no-concat-conv":
            return ApartClassifier(ConvHead(1, 9728, 10))
    raise ValueError(f"image-to-label network {name!r} is not one of {', '.join(READERS)}")


READERS = (
    "concat",
    "no-concat-linear",
    "no-concat-conv",
    "concat-conv",
    "no-concat-indep-conv",
    "width-no-concat-conv",
    "TPS-no-concat-conv",
)


def concat_dim_of(name: str) -> str:
    """Return how the images of a network of `READERS` hold their two digits."""
    return "width" if name.startswith("width") else "colour"


def build_reader(name: str, *, unbounded: bool = False) -> TransformingReader:
    """Return a network of `READERS`; `unbounded` lets control points of splines leave the image."""
    classifier = build_classifier(name)
    if name.startswith("TPS"):
        transforms = [SplineTransform(2, 320, unbounded=unbounded) for _ in range(2)]
    elif concat_dim_of(name) == "width":
        transforms = [AffineTransform(1, 1200) for _ in range(2)]
    else:
        transforms = [AffineTransform(2, 320) for _ in range(2)]
    return TransformingReader(classifier, transforms)
