"""A model of one's own in a plain torch loop: an NAU, then an NMU, learn (a + b) * (c + d).

The penalties pull weights towards {-1, 0, 1} and {0, 1}; `optimize` clamps them after each step.

    python3 examples/own_model.py
"""

import torch

from stable_nalu.layer import NAULayer, NMULayer

torch.manual_seed(0)
torch.set_num_threads(1)  # More only slow down a model as small as this.
options = {"nac_oob": "clip", "regualizer_shape": "linear"}
model = torch.nn.Sequential(NAULayer(4, 2, **options), NMULayer(2, 1, **options))
layers = list(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def batch(low, high):
    x = torch.empty(128, 4).uniform_(low, high)
    return x, (x[:, :2].sum(1) * x[:, 2:].sum(1)).unsqueeze(1)


STEPS = 4000
for step in range(STEPS):
    x, t = batch(-2, 2)
    error = torch.nn.functional.mse_loss(model(x), t)
    # The penalty starts once the model has had time to find the operation.
    weight = 10 * min(1.0, max(0.0, (step - STEPS // 2) / (STEPS // 4)))
    penalty = sum(layer.regualizer({"W"})["W"] for layer in layers)
    optimizer.zero_grad()
    (error + weight * penalty).backward()
    optimizer.step()
    for layer in layers:
        layer.optimize(error.detach())

with torch.no_grad():
    x, t = batch(10, 20)
    error = ((model(x) - t) / t).abs().max()
    print(f"trained on inputs from -2 to 2; relative error on 10 to 20: {error:.2%}")
    for layer in layers:
        print(type(layer).__name__, [[round(w, 3) for w in row] for row in layer.W.tolist()])
