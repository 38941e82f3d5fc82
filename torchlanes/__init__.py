"""Many small models trained at once, one in each lane of a vector: `Trainer`, `explain`."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

VERSION = 1
"""Raised by whatever moves a last bit."""


@dataclass
class Settings:
    """What a package that trains by this one may choose, before anything is compiled.

    folder: below the user's cache. extra_flags: the environment variable with further flags of the
    compiler. refusal: the error for a request that the user must change. without_gpu: how.
    """

    folder: str = "torchlanes"
    extra_flags: str = "TORCHLANES_CXXFLAGS"
    refusal: type[Exception] = ValueError
    without_gpu: str = "train on the processor"


SETTINGS = Settings()


def __getattr__(name: str) -> Any:
    if name not in ("Trainer", "explain"):
        raise AttributeError(f"module 'torchlanes' has no attribute {name!r}")
    return getattr(import_module(".trainer", __name__), name)
