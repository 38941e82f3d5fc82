"""Units of arithmetic as an estimator of scikit-learn.

Units train on inner rows, several seeds at once. Their weights are read as a sum of products of
powers of sums, polished by least squares, and rounded where the outermost rows agree, which no unit
has seen. The constants of the best law are then fitted to all rows.
"""

import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from keyword import iskeyword
from typing import Any

import numpy as np
import sympy
import torch
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from stable_nalu.base.errors import UsageError, did_you_mean
from stable_nalu.layer import NAU, NMU, RealNPU

RIM, GOOD, TINY = 0.2, 1.2, 1e-20
"""The share of rows that are outermost; the factor within which errors are as good; the error of
the right law by rounding, as a share of the mean square of the targets."""
FARTHEST, AGREE = 10.0, 0.05
"""Spans beyond the data up to which a law is tried, and how far two readings of it may differ."""
LARGEST, MOST_READ = 9, 4
"""The largest power, and how many laws are simplified."""


def products(inputs: int, width: int = 2) -> torch.nn.Module:
    return torch.nn.Sequential(RealNPU(inputs, width), torch.nn.Linear(width, 1))


def more(inputs: int) -> torch.nn.Module:
    return products(inputs, 4)


def sums(inputs: int) -> torch.nn.Module:
    return torch.nn.Sequential(NAU(inputs, 2), NMU(2, 1), torch.nn.Linear(1, 1))


def quotients(inputs: int) -> torch.nn.Module:
    return torch.nn.Sequential(NAU(inputs, 3), RealNPU(3, 1), torch.nn.Linear(1, 1))


UNITS = {"products": products, "more products": more, "sums": sums, "quotients": quotients}
"""Two or four products of powers; of sums, products or products of powers."""


def _halves(powers: np.ndarray) -> np.ndarray:
    return np.round(2 * powers) / 2


@dataclass(frozen=True)
class Law:
    """y = sum_k c_k prod_j (sum_i sums_ji x_i)^powers_kj, where a constant is a row of zeros.

    Powers that are no whole numbers are powers of the absolute value.
    """

    sums: np.ndarray
    powers: np.ndarray
    c: Any = 0.0

    @classmethod
    def of(cls, sums: np.ndarray, powers: np.ndarray) -> "Law":
        """Return a law with a constant, and without sums that no product reads."""
        used = (powers != 0).any(0)
        sums = sums * np.where(sums.sum(1) < 0, -1, 1)[:, None]
        return cls(
            sums[used].astype(float), np.vstack([powers[:, used], np.zeros((1, used.sum()))])
        )

    def terms(self, x: np.ndarray) -> np.ndarray:
        z, terms = x @ self.sums.T, np.ones((len(x), len(self.powers)))
        for k, j in zip(*np.nonzero(self.powers), strict=True):
            power = self.powers[k, j]
            terms[:, k] *= (z[:, j] if power % 1 == 0 else np.abs(z[:, j])) ** power
        return terms

    def __call__(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return self.terms(x) @ self.c

    def solve(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the constants of least squares."""
        with np.errstate(all="ignore"):
            terms = self.terms(x)
            size = np.abs(terms).max(0, initial=1e-300)
        if not np.isfinite(size).all():
            return np.full((terms.shape[1], *y.shape[1:]), np.nan)
        return (np.linalg.lstsq(terms / size, y, rcond=1e-12)[0].T / size).T

    def fitted(self, x: np.ndarray, y: np.ndarray) -> "Law":
        return replace(self, c=self.solve(x, y))

    def polished(self, x: np.ndarray, y: np.ndarray) -> "Law":
        """Return the law with the powers of least squares, whole ones of bases of both signs."""
        from scipy.optimize import least_squares

        z = x @ self.sums.T
        positive, scale = (z > 0).all(0), y.std() or 1.0
        start = np.clip(np.where(positive, self.powers, np.round(self.powers)), -LARGEST, LARGEST)
        places = np.nonzero((start != 0) & positive)

        def moved(values: np.ndarray) -> Law:
            powers = start.copy()
            powers[places] = values
            return replace(self, powers=powers).fitted(x, y)

        def gaps(values: np.ndarray) -> np.ndarray:
            return np.nan_to_num((moved(values)(x) - y) / scale, nan=1e9, posinf=1e9, neginf=-1e9)

        def slopes(values: np.ndarray) -> np.ndarray:
            law = moved(values)
            moves = (law.terms(x) * law.c)[:, places[0]] * np.log(z[:, places[1]]) / scale
            return np.nan_to_num(moves - law.terms(x) @ law.solve(x, moves))

        values = start[places]
        if len(values):
            with np.errstate(all="ignore"):
                how: Any = {"jac": slopes, "bounds": (-LARGEST, LARGEST), "max_nfev": 20}
                how |= dict.fromkeys(("xtol", "ftol", "gtol"), 1e-14)
                values = least_squares(gaps, values, **how).x
        return moved(values)

    def rounded(self, x: np.ndarray, y: np.ndarray) -> "Law":
        """Return the law of rows, its constants rounded to a tenth of what they may be off."""
        short = np.vectorize(lambda power: float(f"{power:.4g}"), otypes=[float])(self.powers)
        law = replace(self, powers=short).fitted(x, y)
        off = np.sqrt(mean_square(law, x, y) / np.maximum((law.terms(x) ** 2).sum(0), 1e-300))
        ratios = np.abs(law.c) / np.maximum(off / 10, 1e-12 * np.abs(law.c) + 1e-300)
        digits = np.clip(np.ceil(np.log10(np.maximum(ratios, 1))), 1, 12).astype(int)
        rounded = [float(f"{c:.{count}g}") for c, count in zip(law.c, digits, strict=True)]
        return replace(law, c=np.array(rounded))

    @property
    def size(self) -> int:
        parts = (self.powers, self.sums, self.powers - _halves(self.powers))
        return sum(map(np.count_nonzero, parts)) + len(self.powers)

    def formula(self, inputs: Sequence[sympy.Symbol]) -> Any:
        z = [sum((_number(a) * s for a, s in zip(row, inputs, strict=True))) for row in self.sums]
        formula = sympy.Integer(0)
        for c, row in zip(self.c, self.powers, strict=True):
            pairs = zip(z, row, strict=True)
            factors = [(b if p % 1 == 0 else abs(b)) ** _number(p) for b, p in pairs]
            formula += sympy.Mul(_number(c), *factors)
        return formula


def _number(value: float) -> Any:
    is_short = 2 * value % 1 == 0 and abs(value) < 1e6
    return sympy.Rational(float(value)) if is_short else sympy.Float(str(value))


def mean_square(law: Any, x: np.ndarray, y: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        error = float(((law(x) - y) ** 2).mean())
    return error if np.isfinite(error) else np.inf


class Rows:
    """Rows, parted in inner ones and the rim, which are those farthest from the median."""

    def __init__(self, x: np.ndarray, y: np.ndarray):
        far = np.abs(x - np.median(x, 0)) / np.where(x.std(0) > 0, x.std(0), 1.0)
        self.rim = np.zeros(len(x), bool)
        self.rim[np.argsort(far.max(1), kind="stable")[-max(1, round(RIM * len(x))) :]] = True
        self.x, self.y, self.outer = x, y, (x[self.rim], y[self.rim])
        self.inner = x[~self.rim], y[~self.rim]
        self.tiny = TINY * float((y**2).mean())

    def error(self, law: Law) -> float:
        """Return the error on the rim of a law that is fitted to the inner rows."""
        return mean_square(law.fitted(*self.inner), *self.outer)

    def plain(self) -> list[Law]:
        """Return a sum of inputs, and the product of powers that is linear in logarithms."""
        straight = np.eye(self.x.shape[1])
        x, y = (np.abs(part) for part in self.inner)
        whole = (x > 0).all(1) & (y > 0)
        x, y = x[whole], y[whole]
        # Weighted by targets, as noise matters in logarithms of small ones.
        logs = np.log(np.c_[x, np.full(len(x), np.e)]) * y[:, None]
        powers = np.linalg.lstsq(logs, np.log(y) * y, rcond=1e-9)[0]
        return [Law.of(straight, straight), Law.of(straight, powers[None, :-1])]

    def simplified(self, law: Law) -> Law:
        """Return the law with fewer terms and rounder powers, while its error is as good."""
        limit = GOOD * self.error(law) + self.tiny

        def better(powers: np.ndarray) -> Law:
            other = replace(law, powers=powers)
            if (powers != _halves(powers)).any():
                other = other.polished(*self.inner)
            return other if self.error(other) <= limit else law

        for _ in range(2):
            for k in reversed(range(len(law.powers))):
                law = better(np.delete(law.powers, k, 0))
            law = better(_halves(law.powers))
            for k, j in zip(*np.nonzero(law.powers), strict=True):
                for power in (_halves(law.powers[k, j]), 0.0):
                    powers = law.powers.copy()
                    powers[k, j] = power
                    law = better(powers) if law.powers[k, j] != power else law
        return law


@dataclass(frozen=True)
class Certificate:
    """How well a law holds beyond the rows that it was fitted to.

    inside, outside: its error, when fitted to the inner rows, there and on the outermost ones: root
    of the mean square as a share of the spread. change: how far its powers are from the powers that
    least squares gives. exact: whether it gives every row up to rounding.
    """

    inside: float
    outside: float
    change: float
    exact: bool

    @property
    def holds(self) -> bool:
        """Return whether the error on rows that are farther out is hardly larger, or small."""
        hardly = self.outside <= 1.5 * self.inside and self.outside < 0.5
        return self.exact or hardly or (self.outside <= 5 * self.inside and self.outside < 0.1)

    def __str__(self) -> str:
        said = f"powers within {self.change:.1g} of those of least squares"
        if self.exact:
            return f"equal to every row to 9 digits, {said}"
        holds = "holds" if self.holds else "does not hold"
        errors = f"error {self.outside:.2g} of the spread there, {self.inside:.2g} inside"
        return f"{holds} on outermost rows that were left out: {errors}; {said}"


def _read(model: torch.nn.Module, inputs: int) -> Law:
    """Return the law of trained units, with whole numbers for the weights of NAU and NMU."""
    add, powers = np.eye(inputs), np.eye(inputs)
    unit: Any
    for unit in model.modules():
        if isinstance(unit, NAU):
            add = unit.W.detach().numpy().round()
        elif isinstance(unit, NMU):
            powers = unit.W.detach().numpy().round()
        elif isinstance(unit, RealNPU):
            powers = (unit.W_real * unit.gate().unsqueeze(-1)).detach().numpy().T
    return Law.of(np.nan_to_num(add), np.nan_to_num(powers))


def _trained(rows: Rows, units: str, steps: int, **how: Any) -> list[Law]:
    """Train units on the inner rows, with inputs and targets of about 1."""
    import pandas as pd

    from stable_nalu import task
    from stable_nalu.api.program import train
    from stable_nalu.inspection.saved_model import load

    size = np.abs(rows.x).mean(0)
    size = np.where(size > 0, size, 1.0) if "products" in units else size.mean() or 1.0
    table = pd.DataFrame(rows.x / size).rename(columns=lambda k: f"x{k + 1}")
    table = table.assign(y=rows.y / (rows.y.std() or 1.0), rim=rows.rim * 1)
    how |= {"log_interval": steps, "regualizer": 0.1, "max_iterations": steps, "logger": None}
    how |= {"regualizer_scaling_start": steps // 3, "regualizer_scaling_end": steps * 2 // 3 + 1}
    # What a run warns of, such as that it diverged, is no matter where others are better.
    with tempfile.TemporaryDirectory() as out, warnings.catch_warnings(action="ignore"):
        law = task(table, target="y", test="rim", name="fit")
        runs = train(law, network=UNITS[units], out=out, **how)
        return [_read(load(run), rows.x.shape[1]) for run in runs]


class ArithmeticRegressor(RegressorMixin, BaseEstimator):
    """Regression by units of arithmetic, which answers with a formula.

    Args:
        units: names of `UNITS`, whose laws compete.
        seeds: runs of each.
        steps: iterations of a run.
        learning_rate: of Adam.
        random_state: the first seed, or a generator that draws it.

    Attributes:
        formula_: the law, as text that sympy reads, and what `predict` computes.
        certificate_: a `Certificate`: errors inside and beyond, and whether the law is exact.
        valid_range_: for each input `seen`, its ends in the data, and `trusted`, the ends up to
            which the law agrees with one whose powers are of least squares on the inner rows,
            while the other inputs have their medians. An estimate, no proof.
        complexity_: the number of parts of the formula.
        seeds_solved_: how many runs found a law that is as good on the outermost rows.
    """

    def __init__(
        self,
        units: Sequence[str] = ("products", "sums"),
        *,
        seeds: int = 8,
        steps: int = 1500,
        learning_rate: float = 0.05,
        random_state: Any = 0,
    ):
        self.units, self.seeds, self.steps = units, seeds, steps
        self.learning_rate, self.random_state = learning_rate, random_state

    def fit(self, X: Any, y: Any) -> "ArithmeticRegressor":  # noqa: N803
        for name in self.units:
            if name not in UNITS:
                remedy = did_you_mean(name, UNITS, f"choose of {', '.join(UNITS)}")
                raise UsageError(f"units: there are no units {name!r}; {remedy}")
        for name in ("seeds", "steps"):
            if not (isinstance(getattr(self, name), int) and getattr(self, name) > 0):
                problem = f"{name}: {getattr(self, name)!r} is no count"
                raise UsageError(f"{problem}; write a whole number above 0")
        how: Any = {"dtype": np.float64, "y_numeric": True, "ensure_min_samples": 2}
        rows = Rows(*map(np.asarray, validate_data(self, X, y, **how)))
        plain, runs = rows.plain(), self._laws(rows)
        read = [law.polished(*rows.inner) for law in (plain[1], *runs[:MOST_READ])]
        laws = [rows.simplified(law) for law in (plain[0], *read)]
        limit = GOOD * min(map(rows.error, laws)) + rows.tiny
        law = min((law for law in laws if rows.error(law) <= limit), key=lambda one: one.size)
        runs = read[1:] + [run.polished(*rows.inner) for run in runs[MOST_READ:]]
        self.seeds_solved_ = sum(rows.error(run) <= limit for run in runs)
        self._describe(law, rows)
        return self

    def _laws(self, rows: Rows) -> list[Law]:
        """Return the laws of runs, the best first. An exact law spares the remaining units."""
        laws: list[Law] = []
        first = self.random_state
        if not isinstance(first, int):
            first = int(check_random_state(first).randint(2**31 - self.seeds))
        how = {"seed": range(first, first + self.seeds), "learning_rate": self.learning_rate}
        for units in self.units if len(rows.inner[0]) > 3 else ():
            laws += _trained(rows, units, self.steps, **how)
            laws.sort(key=rows.error)
            if rows.error(laws[0].polished(*rows.inner)) <= rows.tiny:
                break
        return laws

    def _describe(self, law: Law, rows: Rows) -> None:
        own, spread = law.fitted(*rows.inner), rows.y.std() or 1.0
        free = law.polished(*rows.inner)
        self.law_ = law = law.rounded(rows.x, rows.y)
        inside, outside = (np.sqrt(mean_square(own, *r)) / spread for r in (rows.inner, rows.outer))
        change = float(np.abs(free.powers - law.powers).max(initial=0.0))
        exact = bool(np.sqrt(mean_square(law, rows.x, rows.y)) <= 1e-9 * spread)
        self.certificate_ = Certificate(float(inside), float(outside), change, exact)
        names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        if not names or not all(n.isidentifier() and not iskeyword(n) for n in names):
            names = [f"x{k}" for k in range(1, rows.x.shape[1] + 1)]
        signs = ({"positive": True} if s else {"real": True} for s in np.all(rows.x > 0, axis=0))
        inputs = [sympy.Symbol(n, **sign) for n, sign in zip(names, signs, strict=True)]
        formula = law.formula(inputs)
        self.formula_ = sympy.sstr(formula, full_prec=False)
        self.complexity_ = sum(1 for _ in sympy.preorder_traversal(formula))
        seen = ((float(x.min()), float(x.max())) for x in rows.x.T)
        ranges = zip(names, seen, self._trusted(law, free, rows), strict=True)
        self.valid_range_ = {name: {"seen": s, "trusted": trusted} for name, s, trusted in ranges}

    def _trusted(self, law: Law, free: Law, rows: Rows) -> Iterator[tuple[float, float]]:
        """Yield how far each input may go for two readings of the law to agree."""
        steps = np.linspace(0, FARTHEST, 401) if self.certificate_.holds else np.zeros(1)
        fragile = ((law.powers < 0) | (law.powers % 1 != 0)).any(0)
        middle = np.median(rows.x, 0)
        for k, own in enumerate(rows.x.T):
            ends = []
            for edge, way in ((own.min(), -1), (own.max(), 1)):
                x = np.tile(middle, (len(steps), 1))
                x[:, k] = edge + way * steps * (own.max() - own.min())
                y, signs = law(x), np.sign(x @ law.sums.T)[:, fragile]
                with np.errstate(all="ignore"):
                    near = np.abs(free(x) - y) <= AGREE * (np.abs(y) + rows.y.std() / 5)
                near &= (signs == signs[:1]).all(1)
                last = len(near) if near.all() else int(np.argmin(near))
                ends.append(float(x[max(last - 1, 0), k]))
            yield ends[0], ends[1]

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        check_is_fitted(self)
        return self.law_(np.asarray(validate_data(self, X, dtype=np.float64, reset=False)))
