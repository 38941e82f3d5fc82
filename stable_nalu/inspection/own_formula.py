"""The formula of any module, which no task has trained."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import sympy
import torch

from stable_nalu.base.errors import UsageError, in_words

from .formula import EXACT, FARTHEST, GUARD, BoxFormulas, NetworkFormula, TreeFormula, as_evaluated

WIDE = 1e6
"""Inputs are taken to be at most so large, unless their range is given."""


@dataclass(frozen=True)
class Formula:
    """What a module computes: with weights as they are, and with whole numbers for them.

    Several outputs are a tuple. change: by how much the farthest weight was rounded. only: the
    inputs for which the formula holds, if not for all.
    """

    learned: sympy.Basic
    rounded: sympy.Basic
    change: float
    only: str = ""
    lacks_constants: bool = False

    @property
    def is_exact(self) -> bool:
        """Return whether the weights are whole numbers as they are."""
        return self.change == 0

    def __str__(self) -> str:
        notes = [f"without constants below {GUARD:.1g}"] * self.lacks_constants + [self.only]
        if self.change > FARTHEST:
            parts = self.learned.args if isinstance(self.learned, sympy.Tuple) else [self.learned]
            short = [sympy.N(part, 4) for part in parts]
            text, notes = str(short[0] if len(short) == 1 else tuple(short)), [self.only]
        else:
            how = f"weights rounded by at most {self.change:.2g}" if self.change else EXACT
            text, notes = str(self.rounded), [how, *notes]
        return ", ".join([text, *filter(None, notes)])


def module_formula(
    module: torch.nn.Module,
    inputs: Sequence[str] | None,
    within: tuple[float, float] | None,
) -> Formula:
    """Return the formula of a module, for inputs of all signs if it is the same for them."""
    names = _names(module, inputs)
    try:
        low, high = within or (0.0, WIDE)
        if not -math.inf < low < high < math.inf:
            raise ValueError
    except (TypeError, ValueError):
        raise UsageError(f"within: {within!r} is not a range; write (low, high)") from None
    module = _on_processor(module, len(names))
    formula = TreeFormula.of(module) or NetworkFormula(module, len(names))

    def read(low: float, high: float, *, rounded: bool) -> tuple[sympy.Basic, BoxFormulas]:
        formulas = formula.read(((low, high),) * len(names), rounded=rounded)
        named = dict(zip(formulas.symbols, map(sympy.Symbol, names), strict=True))
        exprs = [expr.xreplace(named) for expr in formulas.exprs]
        return (exprs[0] if len(exprs) == 1 else sympy.Tuple(*exprs)), formulas

    learned, rounded = (read(low, high, rounded=r) for r in (False, True))
    only = f"for inputs from {low:g} to {high:g}" if within else "for positive inputs"
    if learned[0] == read(-WIDE, WIDE, rounded=False)[0]:
        only = ""
    reading = rounded[1]
    return Formula(learned[0], rounded[0], reading.change, only, reading.lacks_constants)


def _on_processor(module: torch.nn.Module, inputs: int) -> torch.nn.Module:
    """Return a module, or a copy of it on the CPU; refuse one that cannot map so many inputs."""
    first = next(module.parameters(), torch.empty(()))
    if first.device.type != "cpu":
        module, first = copy.deepcopy(module).cpu(), first.cpu()
    try:
        with as_evaluated(module):
            y = module(first.new_ones(2, inputs))
            if y.ndim > 2 or y.shape[0] != 2:
                raise ValueError(f"rows become a tensor of shape {tuple(y.shape)}")
    except Exception as error:  # Code of any kind runs here.
        problem = f"inputs: {type(module).__name__} cannot map {inputs}: {in_words(error)}"
        raise UsageError(f"{problem}; name every input of a row") from None
    return module


def _names(module: torch.nn.Module, inputs: Sequence[str] | None) -> list[str]:
    """Return the names of inputs, by default as many as the first layer takes."""
    if inputs is None:
        sizes = (getattr(part, "in_features", None) for part in module.modules())
        size = next((size for size in sizes if isinstance(size, int)), 0)
        names = [f"x{k}" for k in range(1, size + 1)]
    else:
        names = list(inputs) if isinstance(inputs, list | tuple) else []
    good = all(isinstance(name, str) and name.isidentifier() for name in names)
    if not names or not good or len(set(names)) < len(names):
        remedy = 'give one name for each input, such as ["m1", "m2", "r"]'
        raise UsageError(f"inputs: {remedy}")
    return names
