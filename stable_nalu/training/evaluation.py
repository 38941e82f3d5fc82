"""Validation and test errors on fixed sets; runs with the same inputs share them in memory."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from stable_nalu.abstract import ExtendedTorchModule

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

    def errors(self, model: ExtendedTorchModule) -> torch.Tensor:
        """Mean squared error of each run; the model is in evaluation mode already."""
        if not self._stacked:
            return ((model(self._x[0]) - self._t[0]) ** 2).mean((-2, -1))
        squared = []
        rows = self._x.shape[-2]
        for start in range(0, rows, self._chunk(model)):
            part = slice(start, start + self._chunk(model))
            y = model(self._x[:, part][self._x_of_run])
            squared.append((y - self._t[:, part][self._t_of_run]) ** 2)
        return torch.cat(squared, dim=-2).mean((-2, -1))

    def _chunk(self, model: ExtendedTorchModule) -> int:
        rows = self._x.shape[-2]
        if not all(m.evaluates_rows_independently for m in model.extended_modules()):
            return rows
        per_row = len(self._x_of_run) * self._x.shape[-1]
        return max(1, min(rows, CHUNK_ELEMENTS // per_row))


def evaluate(model: ExtendedTorchModule, sets: Sequence[EvaluationSet], *, eval_mode: bool):
    """Errors of all sets, without gradients, sampling or traces; training mode afterwards."""
    traces = [(module, module.trace) for module in model.extended_modules()]
    for module, _ in traces:
        module.trace = None
    if eval_mode:
        model.eval()
    with torch.no_grad(), model.no_random():
        errors = [s.errors(model) for s in sets]
    model.train()
    for module, trace in traces:
        module.trace = trace
    return errors
