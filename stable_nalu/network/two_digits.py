"""Networks that answer images of two digits: a reader of digits and a last layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn

from stable_nalu.abstract import ExtendedTorchModule

from .digit_reader import ExpectedDigit, TransformingReader


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
        if self.identity_start and isinstance(self.reader, TransformingReader):
            self.reader.start_at_identity()

    def digits(self, x: torch.Tensor) -> torch.Tensor:
        """Return the digits (batch, 2) that are read, not rounded."""
        return self.expected(self.reader(x))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.answer(self.digits(x))


def _reset(module: nn.Module) -> None:
    """Draw the parameters of all modules below anew, in order of registration."""
    reset = getattr(module, "reset_parameters", None)
    if reset is not None:
        reset()
        return
    for child in module.children():
        _reset(child)
