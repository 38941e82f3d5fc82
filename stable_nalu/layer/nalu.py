"""NALU, the Neural Arithmetic Logic Unit, G-NALU, gated NAU/NMU, and what all NALUs share.

A gate chooses between an additive and a multiplicative path:

    y = g * a + (1 - g) * m,    a = nac_add(x),    m = in log space: exp(nac_mul(log(|x| + eps)))
    g = sigmoid(G x + b)

Shapes: x (*runs, batch, in), G (*runs, out, in), b (*runs, out), y (*runs, batch, out).

`nalu_two_nac`     the paths have a NAC each instead of sharing one
`nalu_two_gate`    m has a gate of its own in place of 1 - g
`nalu_bias`        the gates have the bias b
`nalu_mul`         how m is computed: a mode of `in_log_space`, or `mnac`: nac_mul multiplies itself
`nalu_gate`        `normal`; `golden-ratio`: the golden-ratio sigmoid; `regualized`: the penalty `g`
                   pulls gates to 0 and 1; `gumbel`, `obs-gumbel`: Gumbel noise on the gate, one
                   number per output, or one per output and row; `linear`: g = G x + b, without
                   bounds; `independent`: g = sigmoid(G), G (*runs, out), the same for all inputs
`nalu_gate_shape`  `matrix`; `vector`: G (*runs, 1, in), one gate per row for all outputs
`nalu_init`        `default`: start values of the NACs and Xavier-uniform gates; `xavier-normal` and
                   `truncated` (normal, deviation 0.02, cut at 0.04), `uniform` (within 0.01 of 0):
                   all matrices are drawn so

Some have other layers than the NAC in its place.
"""

from functools import partial
from types import new_class
from typing import Any, ClassVar

import torch

from stable_nalu.abstract import Observation
from stable_nalu.functional import (
    LOG_SPACE_MODES,
    golden_sigmoid,
    in_log_space,
    linear,
    mean_over,
    xavier_bound,
)

from .ablations import IndependentNACLayer, LinearNACLayer, RegualizedLinearNACLayer
from .base import Layer
from .choosing import (
    GradientBanditNACLayer,
    GumbelMNACLayer,
    GumbelNACLayer,
    HardSoftmaxNACLayer,
    SoftmaxNACLayer,
)
from .nac import MNACLayer, NACLayer, PosNACLayer
from .nau_nmu import NAULayer, NMULayer

NALU_GATES = (
    "normal", "regualized", "golden-ratio", "gumbel", "obs-gumbel", "linear", "independent",
)  # fmt: skip
NALU_GATE_SHAPES = ("matrix", "vector")
NALU_STARTS = {
    "truncated": partial(torch.nn.init.trunc_normal_, std=0.02, a=-0.04, b=0.04),
    "xavier-normal": torch.nn.init.xavier_normal_,
    "uniform": partial(torch.nn.init.uniform_, a=-0.01, b=0.01),
}
INDEPENDENT_GATE_BOUND = 0.01
"""Independent gates start from U(-0.01, 0.01), as in the implementation that has them."""


class AbstractNALULayer(Layer):
    """Subclasses name the layers of the two paths; options they read are options of the NALU."""

    default_name = "nalu"
    forgets: ClassVar = {"_gates": ()}
    NACOp: ClassVar[type[Layer]]
    MNACOp: ClassVar[type[Layer] | None] = None
    """The multiplying layer of `nalu_mul="mnac"`; None if there is none of this kind."""

    option_defaults: ClassVar = {
        **{"eps": 1e-7, "nalu_two_nac": False, "nalu_two_gate": False, "nalu_bias": False},
        **{"nalu_mul": "normal", "nalu_gate": "normal", "nalu_gate_shape": "matrix"},
        "nalu_init": "default",
    }
    option_choices: ClassVar = {
        "nalu_mul": (*LOG_SPACE_MODES, "mnac"),
        "nalu_gate": NALU_GATES,
        "nalu_gate_shape": NALU_GATE_SHAPES,
        "nalu_init": ("default", *NALU_STARTS),
    }

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for op in (getattr(cls, "NACOp", None), cls.MNACOp):
            if op is not None:
                cls.option_defaults = cls.option_defaults | {
                    n: v for n, v in op.option_defaults.items() if n not in cls.option_defaults
                }

    def make_parameters(self) -> None:
        if self.nalu_mul == "mnac" and self.MNACOp is None:
            raise ValueError(f"nalu_mul 'mnac': {type(self).__name__} has no multiplying layer")
        if self.nalu_mul == "mnac" and not self.nalu_two_nac:
            raise ValueError("nalu_mul 'mnac' needs a layer for each path (--nalu-two-nac)")
        if self.nalu_gate == "independent" and self.nalu_gate_shape == "vector":
            raise ValueError("nalu_gate_shape 'vector' maps inputs, an independent gate has none")
        if self.nalu_gate == "independent" and self.nalu_bias:
            raise ValueError("nalu_bias: an independent gate is nothing but a bias")
        own = AbstractNALULayer.option_defaults
        rest = {n: vars(self).pop(n) for n in self.option_defaults if n not in own}
        self._gates: tuple[torch.Tensor, ...] = ()
        self._build_gate("add", present=True)
        self._build_gate("mul", present=self.nalu_two_gate)
        if self.nalu_two_nac:
            mul_op = self.MNACOp if self.nalu_mul == "mnac" else self.NACOp
            self.nac_add = self._build_child(self.NACOp, rest, "nac_add")
            self.nac_mul = self._build_child(mul_op, rest, "nac_mul")
        else:
            self.nac_add = self._build_child(self.NACOp, rest, None)
            self.nac_add.passes_per_forward = 2

    def _build_gate(self, path: str, *, present: bool):
        outputs = 1 if self.nalu_gate_shape == "vector" else self.out_features
        shape = (outputs,) if self.nalu_gate == "independent" else (outputs, self.in_features)
        G = self.new_parameter(*shape) if present else None
        b = self.new_parameter(shape[0]) if present and self.nalu_bias else None
        self.register_parameter(f"G_{path}", G)
        self.register_parameter(f"bias_{path}", b)

    def _build_child(self, op, rest, name):
        options = {option: rest[option] for option in op.option_defaults}
        return op(self.in_features, self.out_features, name=name, **options)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        bound = INDEPENDENT_GATE_BOUND
        if self.nalu_gate != "independent":
            bound = xavier_bound(self.in_features, len(self.G_add))
        for G in (self.G_add, self.G_mul):
            if G is not None:
                torch.nn.init.uniform_(G, -bound, bound)
        for b in (self.bias_add, self.bias_mul):
            if b is not None:
                torch.nn.init.zeros_(b)
        if self.nalu_init != "default":
            for weight in self.parameters():
                if weight.ndim > 1:
                    NALU_STARTS[self.nalu_init](weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        g_add = self.gate(x, self.G_add, self.bias_add)
        g_mul = self.gate(x, self.G_mul, self.bias_mul) if self.nalu_two_gate else 1 - g_add
        a = self.nac_add(x)
        m = self.multiply(x)
        self._keep(g_add, g_mul, a, m)
        return g_add * a + g_mul * m

    def gate(
        self, x: torch.Tensor, G: torch.Tensor, bias: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return gate values, `(*runs, batch, out)` or what broadcasts to it."""
        if self.nalu_gate == "independent":
            return torch.sigmoid(G).unsqueeze(-2)
        z = linear(x, G, bias)
        if self.nalu_gate == "linear":
            return z
        if self.nalu_gate == "golden-ratio":
            return golden_sigmoid(z)
        if self.allow_random and self.nalu_gate in ("gumbel", "obs-gumbel"):
            z = z + self._gumbel(z)
        return torch.sigmoid(z)

    def _gumbel(self, z):
        # Its temperature is fixed at 1: `--tau` schedules do not reach the gates of a NALU.
        shape = z.shape[-1:] if self.nalu_gate == "gumbel" else z.shape[-2:]
        u = self.random.uniform(shape, 0.0, 1.0, like=z)
        noise = -torch.log(1e-8 - torch.log(u + 1e-8))
        return noise.unsqueeze(-2) if self.nalu_gate == "gumbel" else noise

    def multiply(self, x: torch.Tensor) -> torch.Tensor:
        """Return the multiplicative path m."""
        nac_mul = self.nac_mul if self.nalu_two_nac else self.shared_nac
        if self.nalu_mul == "mnac":
            return nac_mul(x)
        return in_log_space(nac_mul, x, self.nalu_mul, self.eps)

    def shared_nac(self, x: torch.Tensor) -> torch.Tensor:
        """Pass the shared NAC for the second time; a sampling NAC repeats its sample here."""
        return self.nac_add(x)

    def _keep(self, g_add, g_mul, a, m):
        gates = (g_add, g_mul) if self.nalu_two_gate else (g_add,)
        if self.nalu_gate == "regualized":
            self._gates = gates
        if self.trace is not None:
            names = ("gate/add", "gate/mul") if self.nalu_two_gate else ("gate",)
            values = zip((*names, "add", "mul"), (*gates, a, m), strict=True)
            self.trace.update({name: value.detach() for name, value in values})

    def regualizer_terms(self):
        return {"g": self._gate_penalty} if self.nalu_gate == "regualized" else {}

    def _gate_penalty(self):
        """Sum, over batch and outputs, of g^2 (1 - g)^2 in the last forward pass."""
        zero = self.G_add.new_zeros(self.G_add.shape[:-2])
        return sum(((g**2 * (1 - g) ** 2).sum((-2, -1)) for g in self._gates), start=zero)

    def after_step(self, loss: torch.Tensor) -> None:
        self._gates = ()

    def observations(self) -> list[Observation]:
        trace = self.trace or {}
        observed = [Observation("histogram", n, lambda v=v: v) for n, v in trace.items()]
        if "gate" in trace:
            mean = mean_over(trace["gate"], 2)
            observed.append(Observation("scalar", "gate/mean", lambda: mean, verbose_only=False))
        return observed


class NALULayer(AbstractNALULayer):
    r"""Choose by a gate between a sum and a product of NACs: the NALU of Trask et al. (2018,
    arXiv:1808.00508), and the G-NALU of Rana et al. (2019, doi:10.1109/ICTAI.2019.00192).

        y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))),    g = sigmoid(G x)

        G-NALU: tanh, sigmoid and exp in the NACs, the gate and the product have base phi, not e.
        As in the published benchmark, its gate reads x; in its paper's code it reads |x|.

    Shapes: x (*runs, batch, in), G (*runs, out, in), y (*runs, batch, out). Options: see
    `stable_nalu.layer.nalu`.

    Departs from the paper: no; initial values are those of Madsen & Johansen (2020) unless
    `nalu_init` says otherwise. docs/layers.md says what the published variants can represent.
    Departs from the published code: `nalu_mul="max-safe"` computes its formula, there it raises.
    """

    NACOp = NACLayer
    MNACOp = MNACLayer


class GatedNAUNMULayer(AbstractNALULayer):
    r"""Choose by a gate between the sum of an NAU and the product of an NMU (Madsen & Johansen
    2020, arXiv:2001.05016).

        y = g * NAU(x) + (1 - g) * NMU(x),    g = sigmoid(G x)

    Shapes: x (*runs, batch, in), G (*runs, out, in), y (*runs, batch, out). Options: see
    `stable_nalu.layer.nalu`.

    The formula holds for `nalu_two_nac=True, nalu_mul="mnac"`. Otherwise the product is the NAU in
    log space, as in the NALU.

    Departs from the published code: no.
    """

    NACOp = NAULayer
    MNACOp = NMULayer


ReRegualizedLinearNALULayer = GatedNAUNMULayer


_OF_VARIANTS = """\
NALUs over other layers than the NAC, from the published code of Madsen & Johansen (2020).

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))),    g = sigmoid(G x)

where NAC stands for the layer that is in the name.

Shapes: x (*runs, batch, in), G (*runs, out, in), y (*runs, batch, out). Options: see
`stable_nalu.layer.nalu`.

Of the GradientBanditNALU only the gate is trained by gradients. `set_parameter("tau", v)` reaches
the NACs of the GumbelNALU, not its gate; with `nalu_two_nac=True, nalu_mul="mnac"` a GumbelMNAC
multiplies.

Departs from the paper: they are not in the paper. Departs from the published code: the
RegualizedLinearNALU cannot be built there (a missing import); this is what it was meant to be. Nor
can the cells of the bandit, Gumbel, hard softmax and independent NALU, which are those over these
layers.
"""


class SampledNALU(AbstractNALULayer):
    """A NALU whose shared NAC multiplies with what it drew for adding."""

    def shared_nac(self, x: torch.Tensor) -> torch.Tensor:
        return self.nac_add(x, reuse=True)


def over(
    nac: type[Layer], base: type[AbstractNALULayer] = AbstractNALULayer, **members: Any
) -> type[AbstractNALULayer]:
    """Return the NALU of a layer, for a variable called as the layer but `NALU`."""
    name = nac.__name__.replace("NAC", "NALU")
    about = f"Choose by a gate between a sum and a product of {nac.__name__}s.\n\n{_OF_VARIANTS}"
    members |= {"NACOp": nac, "__module__": __name__, "__doc__": about}
    return new_class(name, (base,), exec_body=lambda body: body.update(members))


GradientBanditNALULayer = over(GradientBanditNACLayer, SampledNALU)
GumbelNALULayer = over(GumbelNACLayer, SampledNALU, MNACOp=GumbelMNACLayer)
HardSoftmaxNALULayer = over(HardSoftmaxNACLayer, SampledNALU)
IndependentNALULayer = over(IndependentNACLayer)
LinearNALULayer = over(LinearNACLayer)
PosNALULayer = over(PosNACLayer)
RegualizedLinearNALULayer = over(RegualizedLinearNACLayer)
SoftmaxNALULayer = over(SoftmaxNACLayer)
