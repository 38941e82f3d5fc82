"""RegualizedLinearNALU: a gate between adding and multiplying RegualizedLinearNACs."""

import pytest

from stable_nalu.layer import RegualizedLinearNACLayer, RegualizedLinearNALULayer
from tests.layer.nalu_family import SmoothNALUContract


class TestRegualizedLinearNALU(SmoothNALUContract):
    nalu = RegualizedLinearNALULayer
    nac = RegualizedLinearNACLayer
    key = "RegualizedLinearNALU"

    def test_the_penalty_is_the_sum_over_its_nacs(self):
        layer = self.build(nalu_two_nac=True, regualizer_shape="linear").double()
        parts = [nac.regualizer()["W"].item() for nac in (layer.nac_add, layer.nac_mul)]
        assert layer.regualizer()["W"].item() == pytest.approx(sum(parts), rel=1e-12)
        assert sum(parts) > 0
