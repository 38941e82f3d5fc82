"""The five published variants of the NALU: a sample by hand and what each can represent.

docs/layers.md lists them with the findings of these tests. "Can represent" means that
some weights come as near as one likes on all inputs of the kind. Weights that show it are set here,
at saturation.
"""

import pytest
import torch

from stable_nalu.layer import NALULayer
from stable_nalu.task.table import SCRIPTS
from tests.runs import normal

VARIANTS = {
    "paper": "--layer-type NALU",
    "article": "--layer-type NALU --nalu-two-nac --nalu-gate linear --nalu-init xavier-normal",
    "notebook": "--layer-type NALU --nalu-init truncated",
    "independent gate": "--layer-type NALU --nalu-two-nac --nalu-gate independent",
    "vector gate": "--layer-type NALU --nalu-gate-shape vector",
}
SQUASHED = ("paper", "notebook", "vector gate")
"""Variants whose gate is sigmoid(G x)."""

EDGE = 40.0
"""tanh and sigmoid of it are 1 in float64."""


def build(variant: str, inputs: int = 2, outputs: int = 1) -> NALULayer:
    """The layer that the flags of a variant give, in float64."""
    spec = SCRIPTS["single_layer_benchmark"]
    (config,) = spec.plan(VARIANTS[variant].split()).configs
    names = ("nalu_two_nac", "nalu_gate", "nalu_gate_shape", "nalu_init")
    options = {k: v for k, v in spec.layer_options(config).items() if k in names}
    torch.manual_seed(0)
    return NALULayer(inputs, outputs, **options, dtype=torch.float64)


def set_weights(layer: NALULayer, W: list, G, mul_W: list | None = None) -> None:
    """Weights of -1, 0 and 1, and gate parameters as they are."""
    layer.G_add.data = torch.tensor(G, dtype=torch.float64).expand_as(layer.G_add).clone()
    for nac, weights in ((layer.nac_add, W), (getattr(layer, "nac_mul", None), mul_W or W)):
        if nac is not None:
            saturated = EDGE * torch.tensor(weights, dtype=torch.float64)
            nac.W_hat.data = saturated.expand_as(nac.W_hat).clone()
            nac.M_hat.data = torch.full_like(nac.M_hat, EDGE)


POSITIVE = normal(50, 2).abs() + 0.5
SIGNED = POSITIVE * normal(50, 2, seed=1).sign()
TARGETS = {
    "sum": lambda x: x.sum(-1, keepdim=True),
    "product": lambda x: x.prod(-1, keepdim=True),
    "quotient": lambda x: x[:, :1] / x[:, 1:],
    "mixture": lambda x: (x.sum(-1, keepdim=True) + x.prod(-1, keepdim=True)) / 2,
    "sum and product": lambda x: torch.stack((x.sum(-1), x.prod(-1)), -1),
}
MUCH = 100.0


def gate_of(variant: str, add: list[int]) -> list:
    """A gate that is 1 where `add` has 1, 1/2 where it has 0, and 0 at -1; a linear one is 0."""
    if variant == "article":
        return [[0.0, 0.0] for _ in add]
    return [MUCH * value if variant == "independent gate" else [MUCH * value] * 2 for value in add]


REPRESENTED = [
    *((variant, "sum", POSITIVE, [1, 1], [1]) for variant in (*SQUASHED, "independent gate")),
    *((variant, "sum", -POSITIVE, [1, 1], [-1]) for variant in SQUASHED),
    ("independent gate", "sum", SIGNED, [1, 1], [1]),
    *((variant, "product", POSITIVE, [1, 1], [-1]) for variant in VARIANTS),
    *((variant, "quotient", POSITIVE, [1, -1], [-1]) for variant in VARIANTS),
    *((variant, "mixture", POSITIVE, [1, 1], [0]) for variant in (*SQUASHED, "independent gate")),
    *(
        (variant, "sum and product", POSITIVE, [1, 1], [1, -1])
        for variant in ("paper", "notebook", "independent gate")
    ),
]


@pytest.mark.parametrize(("variant", "name", "x", "W", "add"), REPRESENTED)
def test_represented(variant, name, x, W, add):
    layer = build(variant, 2, len(add))
    set_weights(layer, W, gate_of(variant, add))
    torch.testing.assert_close(layer(x), TARGETS[name](x), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("variant", VARIANTS)
def test_bounds_of_the_output(variant):
    """Between sum and product, unless the gate is linear: at -1, y = -a + 2 m."""
    layer, x = build(variant, 3, 2), 3 * normal(200, 3)
    for p in layer.parameters():
        p.data = 3 * torch.randn_like(p)
    a, m, y = layer.nac_add(x), layer.multiply(x), layer(x)
    between = (torch.minimum(a, m) - 1e-9 <= y) & (y <= torch.maximum(a, m) + 1e-9)
    assert bool(between.all()) == (variant != "article")
    if variant == "article":
        layer.G_add.data = torch.tensor([[-0.5, 0, 0], [-0.5, 0, 0]]).double()
        x[:, 0] = 2
        torch.testing.assert_close(layer(x), -layer.nac_add(x) + 2 * layer.multiply(x))
