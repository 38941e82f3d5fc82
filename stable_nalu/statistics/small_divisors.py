"""Division by small numbers: the error that remains at the exact solution, in float32.

Each module is given the weights of the solution; what is left is rounding and what its epsilon
does. Inputs are 10,000 draws of a fixed generator, targets are computed in float64.
"""

import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from stable_nalu.base.files import CSV_FOLDER
from stable_nalu.base.script import ScriptParser, exit_code
from stable_nalu.statistics.table import write_table

MACHINE_EPSILON = torch.finfo(torch.float32).eps

BOUNDS = tuple(10.0**power for power in range(-8, 1))
_SAMPLES, _SEED = 10_000, 8689336

Arrays = tuple[float, ...]


@dataclass(frozen=True)
class DivisionTask:
    """A task; easy: 1/a; medium: 1/a beside an idle input; hard: a/b."""

    name: str
    inputs: int
    dataset: str
    target: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Module:
    """A module and its weights at the solution of every task.

    suffix: what its thresholds' parameter ends with in the tables; None if it has none there.
    """

    label: str
    predict: Callable[[torch.Tensor, Arrays], torch.Tensor]
    weights: dict[str, Arrays]
    suffix: str | None


def _nru(x: torch.Tensor, weights: Arrays) -> torch.Tensor:
    return (x ** torch.tensor(weights)).prod(dim=-1)


def _real_npu(x: torch.Tensor, weights: Arrays, epsilon: float) -> torch.Tensor:
    """Return the output: the gate is open where a weight is not 0, and the sign is always 1."""
    w = torch.tensor(weights)
    gate = (w != 0).to(x)
    return torch.exp(torch.log((x.abs() + epsilon) * gate + (1 - gate)) @ w)


def _nmru(x: torch.Tensor, weights: Arrays) -> torch.Tensor:
    w = torch.tensor(weights)
    both = torch.cat([x, 1 / x], dim=-1)
    return (both * w + 1 - w).prod(dim=-1)


TASKS = (
    DivisionTask("easy", 1, "[a] to 1/a", lambda x: 1 / x[:, 0]),
    DivisionTask("medium", 2, "[a,b] to 1/a", lambda x: 1 / x[:, 0]),
    DivisionTask("hard", 2, "[a,b] to a/b", lambda x: x[:, 0] / x[:, 1]),
)
_POWERS = {"easy": (-1.0,), "medium": (-1.0, 0.0), "hard": (1.0, -1.0)}
_SELECTED = {"easy": (0.0, 1.0), "medium": (0.0, 0.0, 1.0, 0.0), "hard": (1.0, 0.0, 0.0, 1.0)}
MODULES = (
    Module("NRU", _nru, _POWERS, ""),
    Module("RealNPU", lambda x, w: _real_npu(x, w, MACHINE_EPSILON), _POWERS, ".realnpu"),
    Module("RealNPU (eps=0)", lambda x, w: _real_npu(x, w, 0.0), _POWERS, None),
    Module("NMRU", _nmru, _SELECTED, ".nmru"),
)


def residual(module: Module, task: DivisionTask, bound: float) -> float:
    """Return the mean squared error of the exact solution on the fixed sample of U[0, bound)."""
    x = np.random.RandomState(_SEED).uniform(0, bound, size=(_SAMPLES, task.inputs))
    target = torch.from_numpy(task.target(x)).float()
    prediction = module.predict(torch.from_numpy(x).float(), module.weights[task.name])
    return float(torch.nn.functional.mse_loss(prediction, target))


def threshold(module: Module, task: DivisionTask, bound: float) -> float:
    """Return the residual error plus the machine epsilon, added in float32."""
    return float(np.float32(residual(module, task, bound)) + np.float32(MACHINE_EPSILON))


def main(argv: Sequence[str] | None = None) -> int:
    """Write the table of all residuals, as a command line asks for; return the exit code."""
    script = "generate_divBy0_extrap_thresholds.py"
    parser = ScriptParser(
        prog=script,
        description="Write the error that remains when division by small numbers is solved "
        "exactly in float32.",
    )
    parser.add_argument(
        "--csv-out",
        metavar="PATH",
        type=Path,
        default=CSV_FOLDER / "divBy0_test_errors.csv",
        help="file to write (default: %(default)s)",
    )
    parser.add_argument(
        "--add-eps",
        action="store_true",
        help="add the float32 machine epsilon: the success thresholds of the figures",
    )
    args = parser.parse_args(argv)
    return exit_code(script, lambda: _write(args.csv_out, add_epsilon=args.add_eps))


def _write(path: Path, *, add_epsilon: bool) -> None:
    rows = []
    for module, task, bound in itertools.product(MODULES, TASKS, BOUNDS):
        error = (threshold if add_epsilon else residual)(module, task, bound)
        tested_on = f"U[0,1e{round(np.log10(bound)):+d})"
        names = {"module": module.label, "parameter": task.name}
        rows.append(names | {"test.mse": error, "range": tested_on})
        sys.stdout.write(f"{module.label}: {task.dataset}, {tested_on}: {error}\n")
    write_table(path, rows[0], rows)
