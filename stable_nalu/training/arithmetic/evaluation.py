"""Validation and test errors on fixed sets; runs with the same inputs share them in memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import torch

from stable_nalu.abstract import ExtendedTorchModule

from ..compiled.errors import CompiledErrors, Portion, portions_of

EVALUATION_ROWS = 10_000
VALIDATION_SEED = 43953907
TEST_SEED = 8689336
CHUNK_ELEMENTS = 1 << 18


class EvaluationSet:
    """The fixed rows of every run: mean squared error of a model on them, shape `runs`."""

    def __init__(self, streams: Sequence, *, stacked: bool, device: torch.device):
        inputs: dict[object, int] = {}
        targets: dict[object, int] = {}
        xs, ts, x_of_run, t_of_run = [], [], [], []
        for stream in streams:
            x_key, t_key = stream.inputs_key(), stream.targets_key()
            if x_key not in inputs or t_key not in targets:
                x, t = stream[0:EVALUATION_ROWS]
                if x_key not in inputs:
                    inputs[x_key] = len(xs)
                    xs.append(x)
                if t_key not in targets:
                    targets[t_key] = len(ts)
                    ts.append(t)
            x_of_run.append(inputs[x_key])
            t_of_run.append(targets[t_key])
        self._stacked = stacked
        self._x = torch.stack(xs).to(device)
        self._t = torch.stack(ts).to(device)
        self._x_of_run = torch.tensor(x_of_run, device=device)
        self._t_of_run = torch.tensor(t_of_run, device=device)

    @cached_property
    def _portions(self) -> list[Portion]:
        return portions_of(self._x, self._t)

    def errors(
        self, model: ExtendedTorchModule, compiled: CompiledErrors | None = None
    ) -> torch.Tensor:
        """Mean squared error of each run; the model is in evaluation mode already.

        compiled: code for the same model, used where it works.
        """
        if not self._stacked:
            return ((model(self._x[0]) - self._t[0]) ** 2).mean((-2, -1))
        squared = None if compiled is None else self._squared_by(compiled)
        if squared is None:
            squared = self._squared(model)
        return torch.cat(squared, dim=-2).mean((-2, -1))

    def _squared_by(self, compiled: CompiledErrors) -> list[torch.Tensor] | None:
        rows = self._x.shape[-2]
        squared = []
        for portion in self._portions:
            errors = compiled.squared(portion, (self._x_of_run, self._t_of_run))
            if errors is None:
                return None
            squared.append(errors[:, :rows])
            rows -= errors.shape[1]
        return squared

    def _squared(self, model: ExtendedTorchModule) -> list[torch.Tensor]:
        squared = []
        rows = self._x.shape[-2]
        for start in range(0, rows, self._chunk(model)):
            part = slice(start, start + self._chunk(model))
            y = model(self._x[:, part][self._x_of_run])
            squared.append((y - self._t[:, part][self._t_of_run]) ** 2)
        return squared

    def _chunk(self, model: ExtendedTorchModule) -> int:
        rows = self._x.shape[-2]
        if not all(m.evaluates_rows_independently for m in model.extended_modules()):
            return rows
        per_row = len(self._x_of_run) * self._x.shape[-1]
        return max(1, min(rows, CHUNK_ELEMENTS // per_row))


def evaluate(
    model: ExtendedTorchModule,
    sets: Sequence[EvaluationSet],
    *,
    eval_mode: bool,
    compiled: CompiledErrors | None = None,
) -> list[torch.Tensor]:
    """Errors of all sets, without gradients, sampling or traces; training mode afterwards."""
    traces = [(module, module.trace) for module in model.extended_modules()]
    for module, _ in traces:
        module.trace = None
    if eval_mode:
        model.eval()
    with torch.no_grad(), model.no_random():
        errors = [s.errors(model, compiled) for s in sets]
    model.train()
    for module, trace in traces:
        module.trace = trace
    return errors
