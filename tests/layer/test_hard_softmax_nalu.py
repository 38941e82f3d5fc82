"""HardSoftmaxNALU: sampled weights, straight through, shared by both paths."""

import torch

from stable_nalu.layer import HardSoftmaxNALULayer
from tests.layer.nalu_family import SIGNS, SampledNALUContract, X


class TestHardSoftmaxNALU(SampledNALUContract):
    nalu = HardSoftmaxNALULayer
    key = "HardSoftmaxNALU"

    def test_samples_without_randomness_too(self):
        layer = self.build().eval()
        state = torch.get_rng_state()
        with layer.no_random():
            layer(X.float())
        assert not torch.equal(state, torch.get_rng_state())

    def test_gradients_reach_the_soft_weights_through_both_paths(self):
        layer = self.build()
        torch.manual_seed(1)
        (actual,) = torch.autograd.grad(layer(X.float()).sum(), [layer.nac_add.W_hat])
        hard = SIGNS[layer.nac_add.sample]
        W = layer.nac_add.weights()
        W = hard + (W - W.detach())
        output = self.expected_output(layer, W, W).sum()
        (expected,) = torch.autograd.grad(output, [layer.nac_add.W_hat])
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)
