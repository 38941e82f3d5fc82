"""Results that a script collects in one file, as the published recurrent scripts did."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import results_root
from stable_nalu.options import Config


def reported(config: Config, flags: Sequence[str]) -> dict[str, Any]:
    """Return the values of some flags; `cuda` is whether a GPU is used."""
    found = {name: getattr(config, name) for name in flags}
    return found | {"cuda": torch.cuda.is_available() and not config.no_cuda} if found else {}


def result_of(config: Config, flags: Sequence[str], results: Mapping[str, float]) -> dict[str, Any]:
    """Return the results of a run behind some flags, and behind others that were given."""
    own = reported(config, flags)
    others = {
        flag.dest: getattr(config, flag.dest)
        for flag in config.spec.flags
        if flag.result and config.is_typed(flag.dest) and flag.dest not in own
    }
    return {**own, **others, **results}


def with_reported(config: Config, flags: Sequence[str]) -> dict[str, Any]:
    """Return a configuration in which some flags come first."""
    first = reported(config, flags)
    return {**first, **config.as_dict(), **first}


class ResultFile:
    """`<results root>/<name>.ndjson`, one JSON object per run and line.

    It is created at once, so that nothing trains in vain.
    """

    def __init__(self, name: str):
        self.path = results_root() / f"{name}.ndjson"
        self._write("")

    def append(self, record: Mapping[str, object], *, once: bool = False) -> None:
        """Add a line; a number that JSON does not know (NaN, infinity) becomes null.

        once: leave the file as it is when it has that line already.
        """
        known = {key: None if _is_unknown(value) else value for key, value in record.items()}
        line = json.dumps(known, allow_nan=False) + "\n"
        if not (once and line in self.path.read_text(encoding="utf-8").splitlines(keepends=True)):
            self._write(line)

    def _write(self, text: str) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise UsageError(
                f"cannot write {self.path}: {error.strerror}; set RESULTS_DIR elsewhere"
            ) from None


def _is_unknown(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
