"""The five published variants of the NALU: a sample by hand and what each can represent.

docs/layers.md has the table of them; its cells are what is found here. "Can represent" means that
some weights come as near as one likes on all inputs of the kind. Weights that show it are set here,
at saturation.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from stable_nalu.layer import NALULayer
from stable_nalu.task.table import SCRIPTS

DOCUMENT = Path(__file__).parents[2] / "docs" / "layers.md"
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


def rows(*values: float) -> torch.Tensor:
    return torch.tensor([values], dtype=torch.float64)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_logarithm_loses_signs(variant):
    layer = build(variant, 3)
    set_weights(layer, [1, 1, 0], 0.0)
    assert layer.multiply(rows(1.5, 2, 2.5)).item() == pytest.approx(3.0, rel=1e-6)
    assert layer.multiply(rows(1.5, -2, 2.5)).item() == pytest.approx(3.0, rel=1e-6)
    assert layer.nac_add(rows(1.5, -2, 2.5)).item() == -0.5


@pytest.mark.parametrize("variant", VARIANTS)
def test_gradients_are_finite_at_zero(variant):
    layer = build(variant, 3, 2).float()
    assert layer.eps == 1e-7
    x = torch.zeros(4, 3, requires_grad=True)
    layer(x).sum().backward()
    gradients = [x.grad, *(p.grad for p in layer.parameters())]
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


def test_many_inputs_let_the_articles_nalu_multiply_signed_numbers():
    """Weights of -1 for all other inputs make the path of logarithms vanish, and g a is x_0 x_1."""
    layer = build("article", 60)
    chosen, others = [0.0] * 60, [0.0, 0.0] + [-1.0] * 58
    set_weights(layer, [0.0, 1.0, *chosen[2:]], [1.0, *chosen[1:]], others)
    x = 20 * torch.rand(50, 60, dtype=torch.float64) - 10
    torch.testing.assert_close(layer(x)[:, 0], x[:, 0] * x[:, 1], rtol=1e-9, atol=1e-9)


# What each can represent -----------------------------------------------------------------------

torch.manual_seed(0)
POSITIVE = 0.5 + 4 * torch.rand(50, 2, dtype=torch.float64)
SIGNED = POSITIVE * torch.tensor([[1.0, 1], [-1, 1], [1, -1], [-1, -1], [1, 1]]).double().repeat(
    10, 1
)

Target = Callable[[torch.Tensor], torch.Tensor]
TARGETS: dict[str, Target] = {
    "sum": lambda x: x.sum(-1, keepdim=True),
    "product": lambda x: x.prod(-1, keepdim=True),
    "quotient": lambda x: x[:, :1] / x[:, 1:],
    "mixture": lambda x: (x.sum(-1, keepdim=True) + x.prod(-1, keepdim=True)) / 2,
    "sum and product": lambda x: torch.stack((x.sum(-1), x.prod(-1)), -1),
}
MUCH = 100.0


def gate_of(variant: str, add: list[int]) -> list:
    """Parameters of a gate that is 1 where `add` has 1, 1/2 where it has 0, and 0 at -1.

    A linear gate of no parameters is 0.
    """
    if variant == "article":
        return [[0.0, 0.0] for _ in add]
    if variant == "independent gate":
        return [MUCH * value for value in add]
    return [[MUCH * value] * 2 for value in add]


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
    layer, x = build(variant, 3, 2), 3 * torch.randn(200, 3, dtype=torch.float64)
    for p in layer.parameters():
        p.data = 3 * torch.randn_like(p)
    a, m, y = layer.nac_add(x), layer.multiply(x), layer(x)
    between = (torch.minimum(a, m) - 1e-9 <= y) & (y <= torch.maximum(a, m) + 1e-9)
    if variant != "article":
        assert between.all()
        return
    assert not between.all()
    layer.G_add.data = torch.tensor([[-0.5, 0, 0], [-0.5, 0, 0]]).double()
    x[:, 0] = 2
    torch.testing.assert_close(layer(x), -layer.nac_add(x) + 2 * layer.multiply(x))


def cells(variant: str) -> list[str]:
    """What the document says of a variant, by what is tested above."""
    kinds = {id(POSITIVE): "positive", id(SIGNED): "signed"}
    has = {(name, kinds.get(id(x))) for v, name, x, *_ in REPRESENTED if v == variant}
    addition = "yes" if ("sum", "signed") in has else "inputs of one sign"
    of_positive = [
        "yes" if (name, "positive") in has else "no"
        for name in ("product", "quotient", "mixture", "sum and product")
    ]
    return [
        addition if ("sum", "positive") in has else "no",
        of_positive[0],
        "no",
        *of_positive[1:],
        "none" if variant == "article" else "between sum and product",
    ]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_table_of_the_documents_says_so(variant):
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    row = next(line for line in reversed(lines) if line.startswith(f"| {variant} | "))
    _, source, flags, *found = [cell.strip() for cell in row.strip("|").split("|")]
    assert source
    assert flags == f"`{VARIANTS[variant]}`"
    assert found == cells(variant)
