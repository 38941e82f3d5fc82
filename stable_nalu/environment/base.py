"""What an environment is built on: Gymnasium, or as much of it where it is not installed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

gymnasium: Any = import_module("gymnasium") if find_spec("gymnasium") else None
"""The package, or None where it is not installed."""


class _Environment:
    """An environment with a generator of its own, seeded as Gymnasium seeds it."""

    render_mode: str | None = None
    _random: np.random.Generator | None = None

    @property
    def np_random(self) -> np.random.Generator:
        """Return the generator, of a random seed if none was given."""
        if self._random is None:
            self._random = np.random.default_rng()
        return self._random

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Seed the generator, if a seed is given."""
        del options
        if seed is not None:
            self._random = np.random.default_rng(seed)

    @property
    def unwrapped(self) -> _Environment:
        """Return the environment itself."""
        return self

    def close(self) -> None:
        """Release nothing."""


@dataclass(frozen=True)
class _Box:
    """Arrays of a shape and type between two bounds."""

    low: float
    high: float
    shape: tuple[int, ...]
    dtype: Any

    def contains(self, x: Any) -> bool:
        """Return whether an array is one of these."""
        if not isinstance(x, np.ndarray) or x.shape != self.shape or x.dtype != self.dtype:
            return False
        return bool(((x >= self.low) & (x <= self.high)).all())


@dataclass(frozen=True)
class _Discrete:
    """Whole numbers from 0, n of them."""

    n: int

    def contains(self, x: Any) -> bool:
        """Return whether a number is one of these."""
        return isinstance(x, int | np.integer) and 0 <= int(x) < self.n


class _Dict(dict[str, Any]):
    """Dictionaries with a space for each key."""

    def contains(self, x: Any) -> bool:
        """Return whether every value is one of its space."""
        same = isinstance(x, dict) and x.keys() == self.keys()
        return same and all(space.contains(x[key]) for key, space in self.items())


_SPACES = None if gymnasium is None else gymnasium.spaces
Environment: Any = _Environment if gymnasium is None else gymnasium.Env
Box: Any = _Box if _SPACES is None else _SPACES.Box
Discrete: Any = _Discrete if _SPACES is None else _SPACES.Discrete
Dict: Any = _Dict if _SPACES is None else _SPACES.Dict


def register(name: str, entry_point: str) -> None:
    """Let Gymnasium make an environment by its name, where Gymnasium is installed."""
    if gymnasium is not None and name not in gymnasium.registry:
        gymnasium.register(name, entry_point)
