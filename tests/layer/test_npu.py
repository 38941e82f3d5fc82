"""NPU and RealNPU: formulas, start values, penalties, ranges, logged values.

The product unit: formula and start.
"""

import math

import pytest
import torch

from stable_nalu.layer import NPULayer, ProductUnitLayer, RealNPULayer
from tests.layer_checks import LayerChecks, Penalised, Published, Worked
from tests.layer_values import IN, OUT, uniform, with_parameters

EPS = 2.0**-23
PENALTIES = {"regualizer_npu_w": 1, "regualizer_gate": 1}
FREE = {"W_real": [[-1.5], [1.5]], "W_im": [[-1.5], [1.5]], "g": [-0.5, 1.5]}
BOUNDED = {"W_real": [[-1.0], [1.0]], "W_im": [[-1.0], [1.0]], "g": [0.0, 1.0]}


class NPUChecks(LayerChecks):
    """Both have the same formula; the imaginary weights of one are zero."""

    start_options = ({}, {"npu_Wr_init": "xavier-uniform-constrained"})

    def formula(self, layer, row, o):
        log_magnitude = phase = 0.0
        for i, v in enumerate(row):
            gate = min(max(layer.g[i].item(), 0), 1)
            r, k = gate * (abs(v) + EPS) + 1 - gate, gate * math.pi * (v < 0)
            real = layer.W_real[i, o].item()
            imaginary = layer.W_im[i, o].item() if hasattr(layer, "W_im") else 0
            log_magnitude += real * math.log(r) - imaginary * k
            phase += real * k + imaginary * math.log(r)
        return math.exp(log_magnitude) * math.cos(phase)

    def start(self, npu_Wr_init="xavier-uniform"):
        bound = math.sqrt(6 / 7) if npu_Wr_init == "xavier-uniform" else 0.5
        if self.layer is NPULayer:
            yield "W_im", torch.zeros(IN, OUT)
        yield "W_real", uniform(-bound, bound, IN, OUT)
        yield "g", torch.full((IN,), 0.5)

    @pytest.mark.parametrize(
        ("clip", "bounded"),
        [("none", ""), ("w", "W_real"), ("g", "g"), ("wg", "W_real g"), ("wig", "W_real W_im g")],
    )
    def test_each_value_of_npu_clip_bounds_what_it_names(self, clip, bounded):
        names = {name for name, _ in self.layer(2, 1).named_parameters()}
        # There is nothing imaginary in a real one, which "wig" leaves as it is.
        bounded = bounded.split() if clip != "wig" or "W_im" in names else ()
        layer = with_parameters(self.layer, {name: FREE[name] for name in names}, npu_clip=clip)
        layer.optimize(torch.tensor(0.0))
        for name in names:
            expected = (BOUNDED if name in bounded else FREE)[name]
            assert layer.get_parameter(name).tolist() == expected, name


class TestNPU(NPUChecks):
    layer = NPULayer
    refused = (({"npu_clip": "all"}, "is not one of"), ({"npu_Wr_init": "normal"}, "is not one of"))
    published = (
        Published([-0.0323702, 0.67939], None, {"g-NPU": 0.5, "W-NPU": 0.102368}, PENALTIES),
    )
    worked = tuple(
        Worked({"W_real": [[1.0], [w]], "W_im": [[0.0], [0.0]], "g": [1.0, g]}, x, y, rel=1e-5)
        for w, g, x, y in (
            (-1.0, 1.0, [[6.0, -3.0], [-8.0, -2.0]], [-2.0, 4.0]),
            (-1.0, 0.0, [[6.0, -3.0], [-8.0, -2.0]], [6.0, -8.0]),
            (0.0, 0.0, [[0.0, 0.0]], [EPS]),
        )
    )
    penalised = (
        Penalised({}, {}, {}),
        *(
            Penalised(
                {"npu_clip": clip, **PENALTIES},
                {"W_real": [[-1.3], [0.25]], "W_im": [[0.5], [-1.25]], "g": [1.2, 0.4]},
                {"g-NPU": (0.2 + 0.4) / 2, "W-NPU": (0.3 + 0.75) / 2 + imaginary},
            )
            for clip, imaginary in (("none", 0.0), ("wg", 0.0), ("wig", 1.75))
        ),
    )


class TestRealNPU(NPUChecks):
    layer = RealNPULayer
    refused = (({"realnpu_reg_type": "w"}, "realnpu_reg_type"),)
    published = (
        Published(
            [0.658167, 0.872259],
            penalties={"g-NPU": 0.5, "W-NPU": 0.610254},
            options={"npu_Wr_init": "xavier-uniform-constrained", **PENALTIES},
        ),
    )
    penalised = (
        Penalised({}, {}, {}),
        *(
            Penalised(
                {"regualizer_npu_w": 1, "realnpu_reg_type": kind},
                {"W_real": [[-1.3], [0.25]]},
                {"W-NPU": expected},
            )
            for kind, expected in (("W", (0.3 + 0.75) / 2), ("bias", (0.3 + 0.25) / 2))
        ),
    )


class TestProductUnit(LayerChecks):
    layer = ProductUnitLayer
    start_options = ({}, {"start": 2.0})
    worked = (
        Worked({"W": [[1.0, -1.0]]}, [[-3.0, -2.0]], [1.5]),
        Worked({"W": [[0.5, 2.0]]}, [[4.0, -3.0]], [18.0]),
        Worked({"W": [[0.0, -1.0]]}, [[5.0, 0.0]], [1e7]),
    )

    def formula(self, layer, row, o):
        pairs = list(zip(layer.W[o].tolist(), row, strict=True))
        log = sum(w * math.log(max(abs(v), 1e-7)) for w, v in pairs)
        return math.exp(log) * math.cos(math.pi * sum(w for w, v in pairs if v < 0))

    def start(self, start=0.5):
        yield "W", uniform(-start, start)
