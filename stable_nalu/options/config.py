"""One run's parsed options, read-only, and the plan of all runs of a command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class Config:
    """The values of one run's flags as attributes: `config.layer_type`, `config.seed`.

    A flag that the script does not take reads as what the script does instead, usually the flag's
    default; `as_dict` lists the script's own flags only.
    """

    script: str

    def __init__(
        self,
        script: str,
        values: Mapping[str, Any],
        typed: frozenset[str] = frozenset(),
        fixed: Mapping[str, Any] | None = None,
    ):
        state = {**(fixed or {}), **values}
        state |= {"script": script, "_own": tuple(values), "_typed": typed}
        self.__dict__.update(state)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.__dict__.get('script', 'a config')} has no option {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a config is read-only; use replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a config is read-only")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Config):
            return NotImplemented
        return self.script == other.script and self.as_dict() == other.as_dict()

    __hash__ = None  # pyright: ignore[reportAssignmentType] — values may be lists

    def __repr__(self) -> str:
        typed = ", ".join(f"{k}={v!r}" for k, v in self.as_dict().items() if k in self._typed)
        return f"Config({self.script}: {typed})"

    @property
    def inputs(self) -> int:
        """Elements of an input vector: the simple task has its own number."""
        from stable_nalu.dataset.simple_function import SIMPLE_INPUT_SIZE

        return SIMPLE_INPUT_SIZE if self.simple else self.input_size

    def as_dict(self) -> dict[str, Any]:
        """The script's own flags and their values, in the order of declaration."""
        return {name: self.__dict__[name] for name in self._own}

    def is_typed(self, name: str) -> bool:
        """Whether the flag stood on the command line."""
        return name in self._typed

    def replace(self, **changes: Any) -> Config:
        """A copy with some of the script's own flags changed, as if they had been typed."""
        unknown = set(changes) - set(self._own)
        if unknown:
            raise AttributeError(f"{self.script} has no option {', '.join(sorted(unknown))}")
        hidden = {"script", "_own", "_typed", *self._own}
        fixed = {k: v for k, v in self.__dict__.items() if k not in hidden}
        values = self.as_dict() | changes
        return Config(self.script, values, self._typed | set(changes), fixed)


@dataclass(frozen=True)
class Plan:
    """The runs that one command asks for, in the order in which they are trained.

    description: such as "225 runs = 25 seeds x 9 ranges".
    """

    configs: list[Config]
    description: str

    def __len__(self) -> int:
        return len(self.configs)
