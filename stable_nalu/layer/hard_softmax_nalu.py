r"""HardSoftmaxNALU — a NALU over HardSoftmaxNAC (Madsen & Johansen 2020, published code).

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))),    g = sigmoid(G x)

Shapes: x (*runs, batch, in), G (*runs, out, in), y (*runs, batch, out).
Options: see `abstract_nalu`.

A shared NAC multiplies with the weights that it sampled for adding.

Departs from the paper: it is not in the paper. Departs from the published code: no. The cell, which
cannot be built there, is the one over this layer.
"""

from __future__ import annotations

import torch

from stable_nalu.papers import MADSEN_2020

from .abstract_nalu import AbstractNALULayer
from .hard_softmax_nac import HardSoftmaxNACLayer
from .recurrent_cell import RecurrentCell
from .registry import register


class HardSoftmaxNALULayer(AbstractNALULayer):
    """A gate between adding and multiplying HardSoftmaxNACs."""

    NACOp = HardSoftmaxNACLayer

    def shared_nac(self, x: torch.Tensor) -> torch.Tensor:
        """Pass the shared NAC for the second time, with the sampled weights of the first pass."""
        return self.nac_add(x, reuse=True)


class HardSoftmaxNALUCell(RecurrentCell):
    """Recurrent HardSoftmaxNALU."""

    Op = HardSoftmaxNALULayer


ENTRY = register(
    key="HardSoftmaxNALU",
    paper_name="Hard softmax NALU",
    latex=r"\mathrm{NALU}_\mathrm{hard}",
    cites=MADSEN_2020,
    layer=HardSoftmaxNALULayer,
    cell=HardSoftmaxNALUCell,
    tier="extra",
)
