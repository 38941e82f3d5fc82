"""The training loss: criterion plus weighted penalties.

    L = criterion + lambda_W s R[W] + R[g] + lambda_z R[z] + lambda_oob R[W-OOB]
        + beta L1 + lambda_npuW v R[W-NPU] + lambda_gate v R[g-NPU] + c R[inalu]

with s the penalty ramp and v = beta (`heim`) or s (`madsen`). A term whose weight is zero in all
runs at an iteration is not computed.
"""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.functional import lp_norm
from stable_nalu.options import Config

Weight = float | np.ndarray
INALU_WEIGHT = 0.05
INALU_START = 10_000
SUM_WEIGHT = 0.1


class Penalties:
    """All penalties of a model, weighted for a list of configurations, one or of stacked runs."""

    beta_only_grows = False

    def __init__(self, configs: Sequence[Config], model: ExtendedTorchModule):
        self._configs = configs
        self._model = model
        self._terms = _collect_terms(model)
        self._ramp = PenaltyRamp(
            configs[0].regualizer_scaling,
            [c.regualizer_scaling_start for c in configs],
            [c.regualizer_scaling_end for c in configs],
        )
        self.uses_l1 = bool(getattr(configs[0], "regualizer_l1", False))
        self._lp_order = getattr(configs[0], "lp_norm", 1)
        self._heim = getattr(configs[0], "reg_scale_type", "heim") == "heim"
        self.betas = self._build_betas()
        self.inalu_active = np.zeros(len(configs))
        self.validation: np.ndarray | None = None
        """The last validation errors, where iNALU's penalty waits for small ones."""
        self._factors = self._build_factors()
        self._weights: list[tuple[str, Weight]] = []
        self._stale = True

    def _column(self, name: str) -> np.ndarray:
        return np.array([float(getattr(c, name, 0.0)) for c in self._configs])

    def _build_betas(self) -> "list[BetaGrowth]":
        npu = self._column("regualizer_npu_w") + self._column("regualizer_gate")
        if not (self.uses_l1 or (self._heim and npu.any())):
            return []
        names = [f"regualizer_beta_{part}" for part in ("start", "end", "step", "growth")]
        return [
            BetaGrowth(*(getattr(c, name) for name in names), only_grows=self.beta_only_grows)
            for c in self._configs
        ]

    def _build_factors(self) -> list[tuple[str, Callable[[np.ndarray], np.ndarray]]]:
        """Return (key, weight of each run given the ramp s), in the order of the published sum."""
        w, z, oob = (self._column(f"regualizer{x}") for x in ("", "_z", "_oob"))
        npu, gate = self._column("regualizer_npu_w"), self._column("regualizer_gate")
        one = np.ones(len(self._configs))

        def scale(s: np.ndarray) -> np.ndarray:
            return self.beta_values() if self._heim else s

        factors = {
            "W": lambda s: w * s,
            "g": lambda s: one,
            "z": lambda s: z,
            "W-OOB": lambda s: oob,
            "W-NPU": lambda s: npu * scale(s),
            "g-NPU": lambda s: gate * scale(s),
            "inalu": lambda s: INALU_WEIGHT * self.inalu_active,
        }
        present = [(key, factor) for key, factor in factors.items() if key in self._terms]
        if self.uses_l1:
            before_npu = [k for k, _ in present if k in ("W", "g", "z", "W-OOB")]
            present.insert(len(before_npu), ("L1", lambda s: self.beta_values()))
            self._terms["L1"] = [self.l1]
        return present

    def keys(self) -> list[str]:
        """Return the penalties that are in force at some iteration, in their order."""
        held, self.inalu_active = self.inalu_active, np.ones(len(self._configs))
        factors = [(key, factor(np.ones(len(self._configs)))) for key, factor in self._factors]
        self.inalu_active = held
        return [key for key, weight in factors if weight.any()]

    def beta_values(self) -> np.ndarray:
        """Return the current beta of each run; zero when nothing uses it."""
        if not self.betas:
            return np.zeros(len(self._configs))
        return np.array([float(beta) for beta in self.betas])

    def weights(self, iteration: int) -> list[tuple[str, Weight]]:
        """Return the penalties in force at `iteration` and their weights; move the beta schedule.

        Call it once per iteration. A weight is a number, or one per run where runs differ; the list
        is computed again only when a schedule moved.
        """
        for beta in self.betas:
            self._stale |= beta.advance(iteration)
        self._activate_inalu(iteration)
        if self._stale or self._ramp.moves(iteration):
            ramp = self._ramp.at(iteration)
            weighted = [(key, factor(ramp)) for key, factor in self._factors]
            self._weights = [
                (key, w if (w != w[0]).any() else float(w[0])) for key, w in weighted if w.any()
            ]
            self._stale = False
        return self._weights

    def next_change(self, iteration: int) -> float:
        """Return the first iteration after this one at which weights may differ."""
        growing = [iteration - iteration % step + step for step in {b.step for b in self.betas}]
        return min([self._ramp.next_move(iteration), *growing])

    def value(self, key: str) -> torch.Tensor:
        """Return the unweighted penalty."""
        terms = self._terms[key]
        total = terms[0]()
        for term in terms[1:]:
            total = total + term()
        return total

    def l1(self) -> torch.Tensor:
        """Return the sum of the norms of all parameters, trainable or not."""
        norms = [lp_norm(p, self._lp_order, p.ndim) for p in self._model.parameters()]
        return sum(norms[1:], norms[0])

    def total(self, weights: Sequence[tuple[str, Any]]) -> torch.Tensor | None:
        """Return the weighted sum of the penalties in force; None when there is none."""
        total = None
        for key, weight in weights:
            value = weight * self.value(key)
            total = value if total is None else total + value
        return total

    def _activate_inalu(self, iteration: int) -> None:
        """Let iNALU's penalty act on runs whose last validation error is below 1."""
        if "inalu" not in self._terms or self.validation is None:
            return
        active = (self.validation < 1) & (iteration > INALU_START)
        if (active != self.inalu_active).any():
            self.inalu_active = active.astype(np.float64)
            self._stale = True


class GrowingPenalties(Penalties):
    """Penalties whose factor beta never falls, as in the curriculum."""

    beta_only_grows = True


class SummedPenalties(Penalties):
    """The penalties of the recurrent scripts: 0.1 s (R[W] + R[g] + R[z] + R[W-OOB]).

    The scale s is that of the ramp; published scripts added one number that a model returned for
    all its penalties.
    """

    def _build_factors(self) -> list[tuple[str, Callable[[np.ndarray], np.ndarray]]]:
        keys = ("W", "g", "z", "W-OOB")
        return [(key, lambda s: SUM_WEIGHT * s) for key in keys if key in self._terms]


def _collect_terms(model: ExtendedTorchModule) -> dict[str, list[Callable[[], torch.Tensor]]]:
    terms: dict[str, list[Callable[[], torch.Tensor]]] = {}
    for module in model.extended_modules():
        for key, term in module.regualizer_terms().items():
            if term is not None:
                terms.setdefault(key, []).append(term)
    return terms


RATE = 1e-5


def saturation(iteration: int) -> float:
    """Return 1 - exp(-1e-5 i)."""
    return 1 - math.exp(-RATE * iteration)


class PenaltyRamp:
    """Scale of the discretisation penalty, one number per run.

    `linear` rises from 0 at `start` to 1 at `end` (an end before the start makes it fall from 1 to
    0); `exp` is 1 - exp(-1e-5 i).
    """

    def __init__(self, scaling: str, start: list[int], end: list[int]):
        self.scaling = scaling
        self.start = np.asarray(start, dtype=np.float64)
        self.length = np.asarray(end, dtype=np.float64) - self.start
        ends = np.concatenate([self.start, self.start + self.length])
        self._first, self._last = float(ends.min()), float(ends.max())

    def moves(self, iteration: int) -> bool:
        """Return whether the scale can differ from that of the iteration before."""
        return self.scaling == "exp" or self._first < iteration <= self._last

    def next_move(self, iteration: int) -> float:
        """Return the first iteration after this one that moves the scale."""
        if self.scaling == "exp" or self._first <= iteration < self._last:
            return iteration + 1
        return math.inf if iteration >= self._last else math.floor(self._first) + 1

    def at(self, iteration: int) -> np.ndarray:
        """Return the scale of each run at an iteration."""
        if self.scaling == "exp":
            return np.full(self.start.shape, saturation(iteration))
        return np.clip((iteration - self.start) / self.length, 0.0, 1.0)


class BetaGrowth:
    """The factor of the NPU papers' penalties: times `growth` every `step` iterations until `end`.

    Exact decimals, so that repeated factors do not drift. A start above the end decreases. A factor
    that overshoots `end` is followed by the reverse factor, as in the published code: the value
    then oscillates.
    """

    def __init__(
        self, start: float, end: float, step: int, growth: int, *, only_grows: bool = False
    ):
        self.value = Decimal(str(start))
        self.end = Decimal(str(end))
        self.step = step
        self.growth = growth
        self.only_grows = only_grows

    def advance(self, iteration: int) -> bool:
        """Update the value at the beginning of `iteration`; return whether it may have changed."""
        if iteration % self.step != 0 or iteration == 0:
            return False
        if self.value < self.end:
            self.value *= self.growth
        elif self.value > self.end and not self.only_grows:
            self.value /= self.growth
        return True

    def __float__(self) -> float:
        return float(self.value)
