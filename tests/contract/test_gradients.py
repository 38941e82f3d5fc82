"""Gradients of every layer that computes a differentiable function, against finite differences."""

import pytest
import torch

from stable_nalu.layer import entries

IN, OUT, BATCH = 3, 2, 4
INTENDED_GRADIENT = {
    "IndependentNAC": "each factor of the weight gets its derivative as if the other were 1",
    "IndependentNALU": "each factor of the weight gets its derivative as if the other were 1",
    "HardSoftmaxNAC": "the sampled weight passes the gradient of the expected one",
    "HardSoftmaxNALU": "the sampled weight passes the gradient of the expected one",
    "EnsembleGumbelNAU": "the sampled mask passes the gradient of the relaxed one",
}
"""Layers whose gradient is by design not that of the computed value, or that take no tensor."""

LOGARITHM_OF_SIGNED_INPUT = {"MulMCFC"}
KEYS = [k for k, e in entries().items() if e.layer is not None and k not in INTENDED_GRADIENT]
VARIANTS = [
    (k, v.options)
    for k, e in entries().items()
    for v in e.variants
    if v.options.get("noise_range") != [1, 0]  # its range is a constant made of the input
]
MULTIPLICATIVE_PATHS = [
    ("NALU", {"nalu_mul": "safe"}),
    ("NALU", {"nalu_mul": "max-safe"}),
    ("NALU", {"nalu_mul": "trig"}),
    ("NALU", {"nalu_mul": "mnac", "nalu_two_nac": True, "nalu_two_gate": True, "nalu_bias": True}),
    ("NALU", {"nalu_gate": "obs-gumbel"}),
    ("NALU", {"nalu_gate": "linear"}),
    ("NALU", {"nalu_gate": "independent", "nalu_two_nac": True}),
    ("NALU", {"nalu_gate_shape": "vector"}),
    ("EML", {"tree": "bottom", "depth": 3, "temperature": 2.5}),
    ("DMU", {"single_gate": True, "gate_smoothing": 1e-5}),
]


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize(
    ("key", "options"),
    [(key, {}) for key in KEYS] + [*VARIANTS, *MULTIPLICATIVE_PATHS],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_gradients_equal_finite_differences(key, options):
    """In training mode, each evaluation drawing the same numbers; parameters vary in place."""
    entry = entries()[key]
    torch.manual_seed(3)
    layer = entry.layer(IN, OUT, **entry.fixed_options, **options)
    parameters = [p for p in layer.parameters() if p.requires_grad]
    x = torch.rand(BATCH, IN) + 0.5
    if key not in LOGARITHM_OF_SIGNED_INPUT:
        x = x * torch.sign(torch.rand(BATCH, IN) - 0.5)

    def function(x, *_):
        torch.manual_seed(5)
        return layer(x)

    assert torch.autograd.gradcheck(function, (x.requires_grad_(), *parameters))
