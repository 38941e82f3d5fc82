"""A unit in a model of one's own, in plain torch: it learns which columns of a table multiply.

The target is m1 m2 (1 + sin(age) / 2). An NMU sees the first three columns, an MLP the age. Once
the weights of the NMU are nearly exact, they are frozen, and its formula is printed.

    python3 examples/own_model.py
"""

import torch

import stable_nalu as sn
from stable_nalu.layer import NMU

STEPS = 1000

torch.manual_seed(0)
torch.set_num_threads(1)  # More only slow down a model as small as this.
table = torch.rand(256, 4) * 3 + 0.5  # m1, m2, noise, age
target = table[:, :1] * table[:, 1:2] * (1 + torch.sin(table[:, 3:]) / 2)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.unit = NMU(3, 1)
        layers = torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
        self.mlp = torch.nn.Sequential(*layers)

    def forward(self, x):
        return self.unit(x[:, :3]) * self.mlp(x[:, 3:])


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
ramp = STEPS // 4, STEPS // 2  # The penalty grows once the model has had time to search.

for step in range(STEPS):
    error = torch.nn.functional.mse_loss(model(table), target)
    loss = error + sn.penalty(model, step, ramp=ramp)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    sn.constrain(model)
    if step % 100 == 0 and step > ramp[0] and model.unit.W.requires_grad:
        change = (model.unit.W - model.unit.rounded().W).abs().max()
        if change < 0.01:
            model.unit.freeze()
            print(f"frozen at step {step}")

print(f"mean squared error {error:.1e}")
print(sn.formula(model.unit, inputs=["m1", "m2", "noise"]))
