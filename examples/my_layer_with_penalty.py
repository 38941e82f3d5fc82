r"""A layer of the project's own kind: penalty, constraint after each update, noise, observations.

    y_o = sum_i W_oi (x_i + noise n_i),    n_i ~ U(-1, 1) in training, W_oi in [-1, 1]

It is written over leading run dimensions, so that hundreds of runs train as one:

    python3 experiments/single_layer_benchmark.py --operation add --seed 0-24 \
        --layer-file examples/my_layer_with_penalty.py --layer-type NoisySum \
        --layer-option noise=0.1
"""

import torch

from stable_nalu import Layer, register
from stable_nalu.abstract import weight_observations


class NoisySum(Layer):
    r"""Add with weights in {-1, 0, 1}.

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).
    """

    def __init__(self, in_features, out_features, *, noise=0.0, name=None):
        super().__init__(in_features, out_features, name=name)
        self.noise = noise
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features))

    def reset_parameters(self):
        torch.nn.init.uniform_(self.W, -0.5, 0.5)

    def forward(self, x):
        if self.training and self.noise:
            x = x + self.random.uniform(x.shape[-2:], -self.noise, self.noise, like=x)
        return x @ self.W.transpose(-1, -2)

    def regualizer_terms(self):
        # Named as the flags --regualizer (sparsity), which weigh it; shape `runs`.
        return {"W": lambda: torch.minimum(self.W.abs(), (1 - self.W.abs()).abs()).mean((-2, -1))}

    def parameter_bounds(self):
        return {"W": (-1.0, 1.0)}

    def observations(self):
        return weight_observations("W", lambda: self.W)


register(NoisySum, label="noisy sum", latex=r"\Sigma_\mathrm{noisy}", cites="An example.")
