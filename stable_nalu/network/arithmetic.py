"""The base of the arithmetic networks: summaries of activations and the max-safe penalty."""

from __future__ import annotations

from typing import ClassVar

import torch

from stable_nalu.abstract import ExtendedTorchModule, Observation
from stable_nalu.functional import mean_over

NAC_MUL_MODES = ("none", "normal", "safe", "max-safe", "mnac", "npu", "real-npu")


class ArithmeticNetwork(ExtendedTorchModule):
    """A network of namespace `network` whose activations `x`, `z_1`, `z_2` can be summarised.

    With `nac_mul="max-safe"` it penalises first-layer outputs z_1 below 1, under the key `z`.
    """

    forgets: ClassVar = {"_z_1": None}

    def __init__(self, nac_mul: str, eps: float):
        super().__init__("network")
        if nac_mul not in NAC_MUL_MODES:
            raise ValueError(f"nac_mul {nac_mul!r} is not one of {', '.join(NAC_MUL_MODES)}")
        self.nac_mul = nac_mul
        self.eps = eps
        self._z_1: torch.Tensor | None = None

    def keep(self, **activations: torch.Tensor) -> None:
        """Keep activations: z_1 for its penalty, and all of them when they are traced."""
        if self.nac_mul == "max-safe" and "z_1" in activations:
            self._z_1 = activations["z_1"]
        if self.trace is not None:
            self.trace.update({name: z.detach() for name, z in activations.items()})

    def regualizer_terms(self):
        if self.nac_mul != "max-safe":
            return {}
        return {"z": self._mean_below_one}

    def _mean_below_one(self) -> torch.Tensor:
        assert self._z_1 is not None, "a penalty follows a forward pass"
        return mean_over(torch.relu(1 - self._z_1), 2)

    def observations(self) -> list[Observation]:
        return [
            Observation("summary", name, lambda z=z: z) for name, z in (self.trace or {}).items()
        ]
