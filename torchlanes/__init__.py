"""Many small models trained at once, one in each lane of a vector: `Trainer`, `explain`."""

from typing import Any

VERSION = 1
"""Raised by whatever moves a last bit."""


def __getattr__(name: str) -> Any:
    if name not in ("Trainer", "explain"):
        raise AttributeError(f"module 'torchlanes' has no attribute {name!r}")
    from . import trainer

    return getattr(trainer, name)
