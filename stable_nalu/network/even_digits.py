"""A network that counts the even digits of a picture, and the layers that its last one may be."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch.nn import functional

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.functional import linear
from stable_nalu.layer.generalized import GeneralizedLayer

from .dense import Convolution, Dense, pooled

HEADS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "linear": lambda w: w,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}
"""What dense last layers do to their weights; any other name is a unit's key."""

FEATURES = 32


class EvenDigitNetwork(ExtendedTorchModule):
    """Pictures x `(batch, size, size)` -> scores `(batch, classes)`.

    The network of a public repository that counts digits as Segui et al. (2015) do: convolutions
    of 8 kernels (7 x 7, stride 2, then the largest of 2 x 2), 16 (3 x 3, dilated by 2), 32 (3 x 3)
    and 1 (1 x 1), a dense layer of 32, each with a ReLU, and the head.

    Weights start as torch's do, those of the last convolution without signs: else its one channel
    is 0 everywhere in some networks, which never learn. Networks of one seed start alike but for
    their heads.
    """

    def __init__(
        self,
        unit_name: str,
        image_size: int = 100,
        classes: int = 6,
        *,
        bias: bool = True,
        **layer_options,
    ):
        super().__init__("network")
        self.first = HalvingConvolution(1, 8, 7, name="first")
        self.second = Convolution(8, 16, 3, name="second", padding=2, dilation=2)
        self.third = Convolution(16, 32, 3, name="third", padding=1)
        self.fourth = Dense(32, 1, "ReLU", "fourth")
        self.dense = Dense((math.ceil(image_size / 2) // 2) ** 2, FEATURES, "ReLU")
        with torch.random.fork_rng(devices=[]):
            self.head = Head(unit_name, FEATURES, classes, bias=bias, **layer_options)

    def reset_parameters(self) -> None:
        for module in (self.first, self.second, self.third, self.fourth, self.dense):
            module.reset_parameters()
        with torch.no_grad():
            self.fourth.W.abs_()
            self.fourth.bias.zero_()
        # Heads draw different amounts of random numbers.
        with torch.random.fork_rng(devices=[]):
            self.head.reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x))

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the head reads, `(batch, 32)`."""
        # Pooling and ReLU commute.
        h = torch.relu(pooled(self.first(x)))
        h = torch.relu(self.third(torch.relu(self.second(h))))
        # A kernel of 1 x 1 is a dense layer of the channels.
        h = h.movedim(-3, -1)
        pixels = self.fourth(h.flatten(0, 2))
        return self.dense(pixels.reshape(len(h), -1))


class HalvingConvolution(Convolution):
    """x `(batch, height, width)` -> `(batch, kernels, height / 2, width / 2)`.

    A convolution of stride 2 of pictures with one channel, padded by 3: computed on blocks of 2 x 2
    pixels as channels, which takes half the time.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sides = [side for n in x.shape[:-3:-1] for side in (4, 2 + n % 2)]
        x = functional.pixel_unshuffle(functional.pad(x, sides).unsqueeze(-3), 2)
        W = functional.pixel_unshuffle(functional.pad(self.W, (1, 0, 1, 0)), 2)
        # Where channels lie side by side, all that follows is quicker.
        x = x.contiguous(memory_format=torch.channels_last)
        return functional.conv2d(x, W, self.bias)


class Head(ExtendedTorchModule):
    """h `(batch, inputs)` -> scores `(batch, outputs)`: W h + b or unit(h) + b.

    unit_name: of `HEADS`, where W is what its function makes of the weights, or a unit's key.
    Weights start uniform in +-1 / sqrt(inputs), biases at 0, units as they do everywhere.
    """

    def __init__(
        self, unit_name: str, inputs: int, outputs: int, *, bias: bool = True, **layer_options
    ):
        super().__init__("head")
        self.unit_name, self.in_features, self.out_features = unit_name, inputs, outputs
        if unit_name in HEADS:
            self.W_hat = torch.nn.Parameter(torch.empty(outputs, inputs))
        else:
            self.layer = GeneralizedLayer(inputs, outputs, unit_name, **layer_options)
        own = torch.nn.Parameter(torch.empty(outputs)) if bias else None
        self.register_parameter("bias", own)

    def reset_parameters(self) -> None:
        if self.unit_name in HEADS:
            bound = 1 / math.sqrt(self.in_features)
            torch.nn.init.uniform_(self.W_hat, -bound, bound)
        else:
            self.layer.reset_parameters()
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        if self.unit_name in HEADS:
            return linear(h, HEADS[self.unit_name](self.W_hat), self.bias)
        y = self.layer(h)
        return y if self.bias is None else y + self.bias
