"""What the field is about, in one picture: two networks learn a * b from inputs between 1 and 2.

    python3 examples/extrapolation.py docs/problem.png

Both fit where they were trained. The MLP is wrong everywhere else; the NMU has found the operation.
"""

import sys

import matplotlib.pyplot as plt
import torch

from stable_nalu.layer import NMULayer

torch.manual_seed(0)
torch.set_num_threads(1)  # More only slow down models as small as these.
MODELS = {
    "MLP, two hidden layers of 64 ReLUs": torch.nn.Sequential(
        torch.nn.Linear(2, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 1),
    ),
    "NMU, two weights": NMULayer(2, 1, nac_oob="clip"),
}
STEPS = 3000


def train(model):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(STEPS):
        x = torch.rand(128, 2) + 1
        error = torch.nn.functional.mse_loss(model(x), x.prod(1, keepdim=True))
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
        if isinstance(model, NMULayer):
            model.optimize(error.detach())


figure, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
a = torch.linspace(-5, 10, 301)
axes.axvspan(1, 2, color="0.88", label="trained here")
axes.plot(a, a**2, color="0.6", linewidth=4, label="a * a")
for (name, model), color in zip(MODELS.items(), ("tab:orange", "tab:blue"), strict=True):
    train(model)
    with torch.no_grad():
        y = model(torch.stack([a, a], 1)).squeeze(1)
    axes.plot(a, y, color=color, linestyle="--" if "NMU" in name else "-", label=name)
    print(f"{name}: {y[-1]:.4f} for 10 * 10")
axes.set(xlabel="a", ylabel="answer to a * a", ylim=(-12, 105))
axes.legend(frameon=False, fontsize=8)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "extrapolation.png", dpi=150)
