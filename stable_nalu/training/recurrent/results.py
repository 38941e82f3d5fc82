"""What the recurrent scripts leave behind besides logs: one JSON object a run and line."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from stable_nalu.errors import UsageError
from stable_nalu.machine import results_root


class ResultFile:
    """`<results root>/<name>.ndjson`; created at once, so that nothing trains in vain."""

    def __init__(self, name: str):
        self.path = results_root() / f"{name}.ndjson"
        self._write("")

    def append(self, record: Mapping[str, object]) -> None:
        """Add a line; a number that JSON does not know (NaN, infinity) becomes null."""
        known = {key: None if _unknown(value) else value for key, value in record.items()}
        self._write(json.dumps(known, allow_nan=False) + "\n")

    def _write(self, text: str) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise UsageError(
                f"cannot write {self.path}: {error.strerror}; set RESULTS_DIR elsewhere"
            ) from None


def _unknown(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
