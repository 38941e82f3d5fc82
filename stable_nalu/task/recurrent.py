"""What the two recurrent scripts share: their optimiser, and a file of results.

Both train by MSE + 0.1 (1 - exp(-1e-5 i)) times the sum of the penalties W, g, z and W-OOB that the
cells have.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import UsageError
from stable_nalu.base.machine import results_root
from stable_nalu.options import Config
from stable_nalu.options.flags import OPTIMIZER
from stable_nalu.training.task import Task

# These scripts had no flags of an optimiser.
YOUNG_OPTIMIZER = OPTIMIZER.without("--clip-grad-value").but(
    optimizer={"young": True},
    learning_rate={"young": True},
    momentum={"young": True},
    clip_grad_norm={"young": True},
)


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


class RecurrentTask(Task):
    """A task whose results are collected in one file per script.

    reported: flags that come first on the console and make up a result, in published order.
    """

    reported: ClassVar[Sequence[str]]
    finite = ("loss_train",)
    logs_updates = True

    def __init__(self, config: Config, device: torch.device, *beside: Config):
        super().__init__(config, device, *beside)
        self._file = ResultFile(config.script)

    def introduced(self, model: ExtendedTorchModule, name: str) -> Iterator[str]:
        if introduction := self.introduction():
            yield f"  - {introduction}"

    def finished(self, config: Config, results: Mapping[str, float]) -> None:
        reported = self._report_of(config)
        # These tell a result from that of the published flags alone.
        others = {
            flag.dest: getattr(config, flag.dest)
            for flag in config.spec.flags
            if flag.result and config.is_typed(flag.dest) and flag.dest not in reported
        }
        self._file.append({**reported, **others, **results}, once=config.resume)

    @classmethod
    def _report_of(cls, config: Config) -> dict[str, Any]:
        reported = {name: getattr(config, name) for name in cls.reported}
        return reported | {"cuda": torch.cuda.is_available() and not config.no_cuda}

    @classmethod
    def shown(cls, config: Config) -> dict[str, Any]:
        reported = cls._report_of(config)
        return {**reported, **config.as_dict(), **reported}
