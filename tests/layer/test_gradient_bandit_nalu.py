"""GradientBanditNALU: sampled weights, learned from the loss, shared by both paths."""

import torch

from stable_nalu.layer import GradientBanditNALULayer
from tests.layer.nalu_family import SampledNALUContract, X


class TestGradientBanditNALU(SampledNALUContract):
    nalu = GradientBanditNALULayer
    key = "GradientBanditNALU"

    def test_without_randomness_nothing_is_drawn(self):
        layer = self.build()
        state = torch.get_rng_state()
        with layer.no_random():
            layer(X.float())
        assert torch.equal(state, torch.get_rng_state())

    def test_gradients_train_only_the_gate_and_losses_the_bandits(self):
        layer = self.build()
        trained = [n for n, p in layer.named_parameters() if p.requires_grad]
        assert trained == ["G_add"]
        for loss in (1.0, 3.0):
            layer(X.float())
            layer.optimize(torch.tensor(loss))
        assert layer.nac_add.running_mean_iter.item() == 2
        assert layer.nac_add.W_hat.abs().max() > 1e-5
