"""When more preparation pays in the recurrent scripts and tasks."""

from __future__ import annotations

from stable_nalu.options import Config

DRAWS_WORTH_COMPILING = 100_000_000
WEIGHTS_WORTH_COMPILING = 100_000_000


def draws_worth_compiling(config: Config, drawn: int) -> bool:
    """Return whether C++ should draw so many input elements."""
    allowed = not getattr(config, "no_compile", False)
    return allowed and drawn >= DRAWS_WORTH_COMPILING


def updates_worth_compiling(config: Config, weights: int, updates: int) -> bool:
    """Return whether C++ should take part in so many updates of so many weights."""
    allowed = not getattr(config, "no_compile", False)
    return allowed and weights * updates >= WEIGHTS_WORTH_COMPILING
