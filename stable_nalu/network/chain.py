"""A chain of operations: a layer for each level or one network for all, and exact weights."""

from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer.equations import DECIDED, EMLLayer
from stable_nalu.layer.gated import INALULayer
from stable_nalu.layer.generalized import GeneralizedLayer
from stable_nalu.layer.nalu import AbstractNALULayer

SATURATED = 20.0
"""The size of weights that are squashed, at which they are exact."""


class ChainNetwork(ExtendedTorchModule):
    """x `(*runs, batch, at least inputs)` -> `(*runs, batch, 1)`.

    Level k sees the output of the level below it, if there is one, and all inputs:

        h_1 = layer_1(x),    h_k = layer_k([h_{k-1}, x])

    units: the unit of each level. Columns of x behind the `inputs` are not seen.
    """

    def __init__(self, units: list[str], inputs: int, **layer_options: Any):
        super().__init__("network")
        self.inputs = inputs
        self.names = [f"layer_{level}" for level in range(1, len(units) + 1)]
        for level, (name, unit) in enumerate(zip(self.names, units, strict=True)):
            size = inputs + (level > 0)
            self.add_module(name, GeneralizedLayer(size, 1, unit, name=name, **layer_options))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x[..., : self.inputs]
        first, *others = (getattr(self, name) for name in self.names)
        y = first(x)
        for layer in others:
            y = layer(torch.cat((y, x), -1))
        return y

    @torch.no_grad()
    def set_exact(self, level: int, operation: str) -> None:
        """Let a level, counted from 1, compute an operation on what it has to."""
        layer = getattr(self, self.names[level - 1]).layer
        operands = (0, 1) if level == 1 else (0, level + 1)
        sign = -1.0 if operation in ("sub", "div") else 1.0
        row = torch.zeros(layer.in_features)
        row[list(operands)] = torch.tensor([1.0, sign])
        adds = operation in ("add", "sub")
        if isinstance(layer, AbstractNALULayer):
            for nac in {layer.nac_add, getattr(layer, "nac_mul", layer.nac_add)}:
                _set_squashed(nac.W_hat, nac.M_hat, row)
            gate = SATURATED if adds else -SATURATED
            layer.G_add.fill_(gate if layer.nalu_gate == "independent" else gate / len(row))
        elif isinstance(layer, INALULayer):
            _set_squashed(layer.W_a_hat, layer.M_a_hat, row[:, None])
            _set_squashed(layer.W_m_hat, layer.M_m_hat, row[:, None])
            layer.g.fill_(SATURATED if adds else -SATURATED)
        else:
            layer.W.copy_(row)


def _set_squashed(W_hat: torch.Tensor, M_hat: torch.Tensor, W: torch.Tensor) -> None:
    """Let tanh(W_hat) sigmoid(M_hat) be W."""
    W_hat.copy_(SATURATED * W)
    M_hat.copy_(SATURATED * (2 * W.abs() - 1))


class WholeNetwork(ExtendedTorchModule):
    """x `(*runs, batch, at least inputs)` -> `(*runs, batch, 1)`: one layer that has levels itself.

    Columns of x behind the `inputs` are not seen.
    """

    def __init__(self, unit: str, inputs: int, **layer_options: Any):
        super().__init__("network")
        self.inputs = inputs
        self.layer_1 = GeneralizedLayer(inputs, 1, unit, name="layer_1", **layer_options)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer_1(x[..., : self.inputs])

    @torch.no_grad()
    def set_exact(self, level: int, operation: str) -> None:
        """Let the tree of a level, counted from 1, be eml(x_{level+1}, the tree below it).

        It is the right part of the one above it; other nodes of the level are eml(1, 1).
        """
        tree = self.layer_1.layer
        assert isinstance(tree, EMLLayer)
        assert operation == "eml"
        if level == 1:
            slots, below = tree.leaves[0], 1
        else:
            # Levels that have children follow from the lowest one, each half as long.
            start, end = (2**tree.depth - 2 ** (tree.depth - level + k) for k in (2, 1))
            slots, below = tree.nodes[0, start:end], -1
        _decide(slots, 0)
        _decide(slots[-2], level + 1)
        _decide(slots[-1], below)


def _decide(logits: torch.Tensor, choice: int) -> None:
    logits.fill_(-DECIDED)
    logits[..., choice] = DECIDED
