"""IndependentNALU: a gate between adding and multiplying IndependentNACs."""

import torch

from stable_nalu.layer import IndependentNACLayer, IndependentNALULayer
from tests.layer.nalu_family import SmoothNALUContract, X


class TestIndependentNALU(SmoothNALUContract):
    nalu = IndependentNALULayer
    nac = IndependentNACLayer
    key = "IndependentNALU"

    def test_the_z_penalty_of_a_shared_nac_sees_plain_and_logarithmic_inputs(self):
        layer = self.build(regualizer_z=1).double()
        layer(X)
        mean = torch.cat((X, torch.log(X.abs() + 1e-7))).mean(0)
        expected = ((1 - layer.nac_add.weights().abs()) * mean**2).mean()
        torch.testing.assert_close(layer.regualizer()["z"], expected, rtol=1e-12, atol=0)
