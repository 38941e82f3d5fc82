"""SPU, a soft product unit: y_o = prod_i (1 + W_oi (x_i - 1))^power.

A plain torch module: nothing of this project is imported. Train it in any experiment:

    python3 experiments/single_layer_benchmark.py --operation mul --seed 0-24 \
        --layer-file examples/my_layer.py --layer-type SPU --learning-rate 0.01
"""

import torch


class SPU(torch.nn.Module):
    def __init__(self, in_features, out_features, *, power=1):
        super().__init__()
        self.power = power
        self.W = torch.nn.Parameter(0.25 + 0.5 * torch.rand(out_features, in_features))

    def forward(self, x):
        return (1 + self.W * (x.unsqueeze(1) - 1)).prod(-1) ** self.power
