"""One module alone, or a plain MLP, as in the benchmark of single modules, with iNALU's rules."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.tags import RESULT_VALID
from stable_nalu.options import Config, Flag, FlagGroup, switch
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import integer, number
from stable_nalu.training.loop import Training
from stable_nalu.training.task import Results

from . import arithmetic

_REINIT = FlagGroup(
    "Restarts",
    switch(
        "--reinit", "Draw new start weights when validation has stopped improving (iNALU's rule)."
    ),
    Flag(
        "--reinit-epoch-interval",
        integer(1),
        10,
        "Iterations between two tests of the restart rule.",
    ),
    Flag(
        "--reinit-max-stored-losses",
        integer(0),
        5000,
        "The rule applies once more validation errors than this are stored.",
    ),
    Flag(
        "--reinit-loss-thr",
        number(),
        1.0,
        "Restart only while the mean of the newer half of the stored errors exceeds this.",
    ),
)

# Published names of these layers come from a script without criteria, hence without the field.
_NO_CRITERION_FIELD = ("MCFC", "MulMCFC", "MulMCFCSignINALU", "MulMCFCSignRealNPU")


def _criterion(c: Config) -> str | None:
    return None if c.layer_type in _NO_CRITERION_FIELD else nf.criterion(c)


SCRIPT = arithmetic.script(
    name="single_layer_benchmark",
    summary="Train one arithmetic unit, or a plain MLP, on the benchmark of single modules.",
    example="--operation mul --layer-type iNALU --clip-grad-value 0.1 --reinit --seed 0-24",
    groups=(
        *(common.TASK.without("--sample-distribution"), arithmetic.SINGLE_NETWORK),
        *(common.OWN_LAYERS, common.WEIGHTS.without("--trash-cell", "--W-set-count")),
        common.NALU.but(
            nalu_mul={"choices": (*common.NALU_MUL, "golden-ratio")},
            nalu_gate={"choices": (*common.NALU_GATE, "golden-ratio")},
        ),
        *(common.NPU, common.PENALTIES, common.NPU_PENALTIES.without("--lp-norm")),
        *(common.CRITERION, common.OPTIMIZER),
        _REINIT,
        arithmetic.SINGLE_LOGGING,
        common.RUN_CONTROL,
    ),
    name_fields=(
        nf.NameField(
            arithmetic.single_layer_model,
            ("layer_type", *nf.NALU_FLAGS, "nac_weight", "nru_div_mode"),
            arithmetic.ONLY_NALU | {"nac_weight": "printed for layers NALU and NAC only"},
        ),
        *(*nf.COMMON, *nf.SINGLE_PENALTIES, nf.GRAD_NORM, nf.GRAD_VALUE, nf.REINIT),
        nf.NameField(
            _criterion,
            nf.CRITERION.flags,
            {**nf.CRITERION.partial, "train_criterion": "not printed for the MCFC layers"},
        ),
        nf.ID,
    ),
    checks=arithmetic.SINGLE_LAYER_CHECKS,
)


class RestartRule:
    """Decides, per run, whether to initialise again.

    The last validation error is recorded every iteration. Every `interval` iterations, once more
    than `max_stored` values are there, they are halved in time: restart when the older mean does
    not exceed the newer mean plus its standard deviation while the newer mean is above `threshold`.
    A restart empties the record.
    """

    def __init__(self, runs: int, interval: int, max_stored: int, threshold: float):
        self.interval = interval
        self.max_stored = max_stored
        self.threshold = threshold
        self.counts = [0] * runs
        self._segments: list[list[tuple[float, int]]] = [[] for _ in range(runs)]

    def record(self, errors: np.ndarray, times: int = 1) -> None:
        """Append the last validation error of every run, `times` times."""
        for segments, error in zip(self._segments, errors.tolist(), strict=True):
            if segments and segments[-1][0] == error:
                segments[-1] = (error, segments[-1][1] + times)
            else:
                segments.append((error, times))

    def due(self, iteration: int) -> list[int]:
        """Return the runs to initialise again at `iteration`, and empty their records."""
        if iteration == 0 or iteration % self.interval != 0:
            return []
        restarted = [run for run, segments in enumerate(self._segments) if self._stuck(segments)]
        for run in restarted:
            self._segments[run] = []
            self.counts[run] += 1
        return restarted

    def _stuck(self, segments: list[tuple[float, int]]) -> bool:
        stored = sum(times for _, times in segments)
        if stored <= self.max_stored:
            return False
        if not self._newer_half_exceeds(segments, stored):
            return False
        values = np.repeat(
            np.array([value for value, _ in segments], dtype=np.float32),
            [times for _, times in segments],
        )
        older, newer = values[: stored // 2], values[stored // 2 :]
        with np.errstate(invalid="ignore", over="ignore"):  # infinite errors never restart
            bound = newer.mean() + newer.std()
            return bool(older.mean() <= bound and newer.mean() > self.threshold)

    def _newer_half_exceeds(self, segments: list[tuple[float, int]], stored: int) -> bool:
        """Return whether some value of the newer half is above the threshold, which is needed."""
        remaining = stored - stored // 2
        for value, times in reversed(segments):
            if value > self.threshold:
                return True
            remaining -= times
            if remaining <= 0:
                return False
        return False

    def get_state(self, run: int) -> dict:
        """Return the state of one run as plain values."""
        return {"count": self.counts[run], "segments": list(self._segments[run])}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        """Put the state of one run back."""
        self.counts[run] = state["count"]
        self._segments[run] = [(value, times) for value, times in state["segments"]]


class SingleLayerBenchmark(arithmetic.SingleLayerTask):
    """iNALU's penalty begins, and runs are initialised again, by the validation error."""

    kind = replace(arithmetic.SingleLayerTask.kind, guided=True)

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        self._restarts: RestartRule | None = None
        if config.reinit:
            stored, threshold = config.reinit_max_stored_losses, config.reinit_loss_thr
            self.pause = every = config.reinit_epoch_interval
            self._restarts = RestartRule(len(self.configs), every, stored, threshold)

    def end(self, training: Training, units: int) -> None:
        if self._restarts is not None:
            self._restarts.record(training.errors[RESULT_VALID], units)
            due = self._restarts.due(training.clock)
            training.restart([(run, self._restarts.counts[run] - 1) for run in due])

    def report(self, model: ExtendedTorchModule, name: str, results: Results) -> Iterator[str]:
        if self._restarts is not None and results is not None:
            yield f"Reinitialized {sum(self._restarts.counts)} times"
        yield from super().report(model, name, results)

    def get_state(self, run: int) -> dict[str, Any]:
        own = {} if self._restarts is None else self._restarts.get_state(run)
        return super().get_state(run) | own

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        if self._restarts is not None and state:
            self._restarts.set_state(run, state)


TASK = SingleLayerBenchmark
