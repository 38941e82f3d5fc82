"""Print speed ratios, medians of several repeats: `make bench`."""

from __future__ import annotations

import contextlib
import io
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from stable_nalu.training.run import run_script

ROOT = Path(__file__).resolve().parents[1]
REPEATS = 7
ITERATIONS = 4000
WARM_UP = 500


class BareNMU(torch.nn.Module):
    """The multiplication unit as one would write it by hand."""

    def __init__(self, inputs: int):
        super().__init__()
        self.W = torch.nn.Parameter(torch.empty(1, inputs).uniform_(0.25, 0.75))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, in)` to `(batch, 1)`."""
        w = self.W.t().unsqueeze(0)
        return torch.prod(x.unsqueeze(2) * w + 1 - w, 1)


def bare_loop(iterations: int) -> None:
    """Draw, forward, backward, Adam, clamp; nothing else."""
    random = np.random.RandomState(0)
    model = BareNMU(2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = torch.nn.MSELoss()
    for _ in range(iterations):
        x = random.uniform(1, 2, (128, 2))
        t = x[:, :1] * x[:, 1:]
        x, t = torch.tensor(x, dtype=torch.float32), torch.tensor(t, dtype=torch.float32)
        optimizer.zero_grad()
        criterion(model(x), t).backward()
        optimizer.step()
        model.W.data.clamp_(0, 1)


def project_loop(iterations: int) -> None:
    """The same through the training script, logging at the first iteration only."""
    words = f"--operation mul --layer-type ReRegualizedLinearMNAC --max-iterations {iterations - 1}"
    words += f" --log-interval {iterations} --remove-existing-data --no-save --no-cuda"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        run_script("single_layer", words.split())


def per_iteration(loop: Callable[[int], None]) -> float:
    """Seconds of one iteration, without what a run costs once."""
    start = time.perf_counter()
    loop(WARM_UP)
    middle = time.perf_counter()
    loop(WARM_UP + ITERATIONS)
    return (time.perf_counter() - middle - (middle - start)) / ITERATIONS


def process(*words: str) -> float:
    """Seconds that a Python process takes."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def compare(title: str, ours: Callable[[], float], theirs: Callable[[], float], aim: float) -> None:
    """Measure both sides in turn and print the ratio of their medians."""
    # The first time, files and caches are cold.
    ours()
    theirs()
    pairs = [(ours(), theirs()) for _ in range(REPEATS)]
    own, other = (statistics.median(side) for side in zip(*pairs, strict=True))
    spread = sorted(a / b for a, b in pairs)
    sys.stdout.write(
        f"{title}: {own / other:.2f} (aim: at most {aim}; {own:.3g} s against {other:.3g} s, "
        f"ratios from {spread[0]:.2f} to {spread[-1]:.2f})\n"
    )
    sys.stdout.flush()


def main() -> None:
    """All comparisons."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TENSORBOARD_DIR"] = folder
        compare(
            "one iteration of an NMU / of a bare loop",
            lambda: per_iteration(project_loop),
            lambda: per_iteration(bare_loop),
            1.3,
        )
    script = ("experiments/single_layer.py", "--help")
    compare(
        "--help / import torch",
        lambda: process(*script),
        lambda: process("-c", "import torch"),
        1.5,
    )


if __name__ == "__main__":
    main()
