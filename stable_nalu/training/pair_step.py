"""The training step of networks of two digits: what applies to their last layer alone."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from stable_nalu.network.two_digits import TwoDigitNetwork
from stable_nalu.options import Config

from .clipping import clip_norm
from .step import TrainingStep


class PairStep(TrainingStep):
    """A step with `--only-nalm-cgn` and `--weight-decay`.

    The decay is Adam's L2 penalty: a share of the weights, added to their clipped gradients.
    """

    def __init__(self, config: Config, model: TwoDigitNetwork):
        super().__init__([config], model, stacked=False)  # type: ignore[list-item]
        self._decay = float(getattr(config, "weight_decay", 0))
        last = {id(p) for p in model.answer.parameters()}
        self._last = [k for k, p in enumerate(self.parameters) if id(p) in last]
        self._clip_last = None
        if getattr(config, "only_nalm_cgn", False):
            self._clip_last, self._clip_norm = self._clip_norm, None

    def gradients(
        self, total: torch.Tensor, parameters: Sequence[torch.Tensor] | None = None
    ) -> Sequence[torch.Tensor | None]:
        gradients = list(super().gradients(total, parameters))
        last = [gradients[k] for k in self._last]
        if self._clip_last is not None:
            last = clip_norm(last, self._clip_last, self.run_dims)
        for k, gradient in zip(self._last, last, strict=True):
            if self._decay and gradient is not None:
                gradient = gradient.add(self.parameters[k].detach(), alpha=self._decay)
            gradients[k] = gradient
        return gradients
