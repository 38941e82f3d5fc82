"""A fractional SIR model found again as a neural differential equation (Heim et al. 2020).

    S' = -r + 0.01 R,   I' = r - 0.05 I,   R' = 0.05 I - 0.01 R,   r = 0.06 sqrt(I) sqrt(S)

from (100, 0.01, 0), known at 40 times from 0 to 200. The network of the right-hand sides is trained
through 200 explicit Euler steps, between which states are interpolated linearly; L-BFGS follows.
The loss is the mean squared error and beta times the sum of all absolute weights.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.functional import lp_norm
from stable_nalu.network.euler import euler, through
from stable_nalu.network.pair import DENSE, PairNetwork
from stable_nalu.options import Config, Flag
from stable_nalu.options.flag import integer, number
from stable_nalu.options.flags import LAYER_TYPE, MAX_ITERATIONS
from stable_nalu.training import floats
from stable_nalu.training.lbfgs import minimise
from stable_nalu.training.task import Batch, Goal, Kind
from stable_nalu.writer.event_file import METRIC_TEST, METRIC_VALID

from .shared import RowsTask, large_weights, task_script

ALPHA, BETA, ETA = 0.05, 0.06, 0.01
START, TIMES, LAST, LATER = (100.0, 0.01, 0.0), 40, 200, 406
"""First state, the number of times, steps to the last one, and to as many times again."""
BEFORE, CUT = "metric/valid/before-lbfgs", 1e-3
"""The tag of an earlier error, and the size below which a weight counts as none."""


@lru_cache
def truth() -> np.ndarray:
    """Return the exact states at the times of training, and as many of the same length after."""
    from scipy.integrate import solve_ivp

    def velocities(_: float, u: np.ndarray) -> list[float]:
        r = BETA * np.sqrt(max(u[0], 0)) * np.sqrt(max(u[1], 0))
        return [-r + ETA * u[2], r - ALPHA * u[1], ALPHA * u[1] - ETA * u[2]]

    how = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-11}
    return solve_ivp(velocities, (0, LATER), START, t_eval=_times(2 * TIMES), **how).y.T


def _times(count: int) -> np.ndarray:
    return np.arange(count) * (LAST / (TIMES - 1))


def at_times(count: int, steps: int) -> torch.Tensor:
    """Return the weights `(times, steps + 1)` that interpolate states between steps."""
    far = np.abs(_times(count)[:, None] - np.arange(steps + 1))
    return floats(torch.from_numpy(np.maximum(1 - far, 0)), torch.device("cpu"))


class SIRTask(RowsTask):
    """Find the right-hand sides. Errors are of all three states."""

    kind = Kind(cost=300)
    in_torch = "seed", "beta"

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        self.before = [float("nan")] * len(self.configs)
        self._at_times = at_times(TIMES, LAST)
        self.about = f"dataset: a fractional SIR model at {TIMES} times"

    def rows_of(self, config: Config) -> Batch:
        exact = torch.from_numpy(truth()[:TIMES].copy())
        return floats(exact[:1], self.device), floats(exact, self.device)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        return Goal(operation="sir")

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        gain = {"gain": 1.0 if config.layer_type in DENSE else 0.2}
        return PairNetwork(config.layer_type, 3, config.hidden_size, 3, gain | layer_options)

    def loss(self, model: ExtendedTorchModule, x: Any, t: Any, criterion: Any) -> torch.Tensor:
        states, error = self._errors(model, x, t)
        found = (error**2).mean((-1, -2))
        slope = self._at_times.mT @ error * (2 / (error.shape[-1] * error.shape[-2]))
        beta = found.new_tensor([c.beta for c in self.configs]).reshape(found.shape)
        sizes = [lp_norm(p, 1, p.ndim - found.ndim) for p in model.parameters()]
        return through(model, states, found, slope) + beta * sum(sizes)

    def _errors(self, model: ExtendedTorchModule, x: Any, t: Any) -> Batch:
        """Return the states of all steps, and errors at the known times."""
        states = torch.from_numpy(euler(cast(PairNetwork, model).field(), x.numpy(), LAST))
        return states, self._at_times @ states - t

    def rate_factor(self, at: int) -> float:
        """Return 0 for the unit that is only measured."""
        return float(at < self.config.max_iterations)

    def end(self, training: Any, units: int) -> None:
        if training.at + units != self.config.max_iterations or not self.config.polish:
            return
        x, t = (torch.from_numpy(part[0]) for part in self.given(range(training.runs), 1))
        x, t = (part[0] if self.engine is None else part for part in (x, t))
        model = training.model
        self.before = (self._errors(model, x, t)[1] ** 2).mean((-1, -2)).reshape(-1).tolist()
        own = [p for p in model.parameters() if p.requires_grad]
        minimise(own, lambda: self.loss(model, x, t, None), self.config.polish)

    def measured(self, model: ExtendedTorchModule, run: int) -> Mapping[str, Any]:
        exact = floats(torch.from_numpy(truth()), self.device)
        states = torch.from_numpy(euler(cast(PairNetwork, model).field(), exact[:1].numpy(), LATER))
        errors = at_times(2 * TIMES, LATER) @ states - exact
        inside, after = (errors[:TIMES] ** 2).mean(), (errors[TIMES:] ** 2).mean()
        found = {METRIC_VALID: inside, METRIC_TEST: after, BEFORE: torch.tensor(self.before[run])}
        found |= large_weights(model, CUT)
        is_pair = self.config.layer_type not in DENSE and self.at >= self.config.max_iterations
        return found | ({"formula": formula(cast(PairNetwork, model))} if is_pair else {})

    def get_state(self, run: int) -> dict[str, Any]:
        return {"before": self.before[run]}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        self.before[run] = state["before"]


def formula(model: PairNetwork) -> str:
    """Return the right-hand sides for positive states; weights and gates below 0.001 are 0."""
    unit, sums = (layer.layer for layer in model.layers)
    gates = unit.gate().detach().tolist()
    bases = [
        name if gate > 1 - CUT else f"({gate:.3g} {name} {1 - gate:+.3g})"
        for name, gate in zip("SIR", gates, strict=True)
    ]

    def over_states(form: str, weights: list[float]) -> str:
        known = zip(bases, gates, weights, strict=True)
        return " ".join(form.format(base, w) for base, g, w in known if min(g, abs(w)) > CUT)

    terms = []
    imaginary_weights = getattr(unit, "W_im", torch.zeros_like(unit.W_real))
    both = (W.detach().mT.tolist() for W in (unit.W_real, imaginary_weights))
    for real, imaginary in zip(*both, strict=True):
        angle = over_states("{1:+.3g} ln {0}", imaginary)
        powers = over_states("{0}^{1:.3g}", real), angle and f"cos({angle})"
        terms.append(" ".join(filter(None, powers)) or "1")
    sides = (
        " ".join(f"{w:+.3g} {t}" for w, t in zip(row, terms, strict=True) if abs(w) > CUT)
        for row in sums.W.detach().tolist()
    )
    return "; ".join(f"{n}' = {side}" for n, side in zip("SIR", sides, strict=True))


# A flag is a few lines of a table.
# fmt: off
_TASK = (
    LAYER_TYPE.but(default="NPU", choices=lambda: ("NPU", "RealNPU", "Tanh"),
        help="A unit with a plain sum behind it, or an MLP with two hidden layers."),
    Flag("--hidden-size", integer(1), 6, "Width of hidden layers.", in_name="h{hidden_size:int}"),
    Flag("--beta", number(0), 0.0, "Weight of the sum of all absolute parameters.", sweep=True,
        in_name="be-{beta:float}"),
    Flag("--polish", integer(0), 1000, "Largest number of L-BFGS steps behind the last iteration.",
        in_name="po-{polish:int}"),
    MAX_ITERATIONS.but(default=3000,
        help="Number of updates before L-BFGS; measures at this iteration are the results."),
)
SCRIPT = task_script(
    "fractional_sir",
    summary="Find the right-hand sides of a fractional SIR model from its solution.",
    example="--layer-type RealNPU --hidden-size 6 --beta 1 --optimizer flux-rmsprop --seed 0-4",
    task=_TASK,
    batch_size=None, learning_rate=5e-3, inputs=3,
)
TASK = SIRTask
