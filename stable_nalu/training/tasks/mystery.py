"""The mystery arithmetic problem: which inputs, and which operation, are behind each output?

From an article about the NALU paper, which trains one layer on all outputs at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.mystery import MysteryProblem
from stable_nalu.network.mystery import MysteryNetwork
from stable_nalu.options import Config
from stable_nalu.options.scripts_tasks import NALU_VARIANTS
from stable_nalu.tags import LOSS_EPOCH, MSE_TEST, MSE_TRAIN, PROBLEM

from .training import EPOCHS, Batch, Task, kind

_MOST_SHOWN = 20
"""Outputs that the console lists of a problem; the log has all."""


class MysteryTask(Task):
    """Fit all outputs; the errors are mean squared ones, of all outputs and by operation."""

    valid: ClassVar = MSE_TRAIN
    test: ClassVar = MSE_TEST

    def __init__(self, configs: Sequence[Config], device: torch.device, *, stacked: bool):
        super().__init__(configs, device, stacked=stacked)
        self.operations: list[str] = self.config.operations.split(",")
        self.problems = [
            MysteryProblem(c.input_size, c.output_size, self.operations, _problem_seed(c))
            for c in configs
        ]
        (low, high), (first, last) = self.config.train_range, self.config.test_range
        train = [p.training_rows(low, high, c.train_size) for p, c in self._each()]
        test = [p.test_rows(first, last, c.test_size) for p, c in self._each()]
        self._train, self.test_rows = self._rows(train), self._rows(test)
        self._batches = self._cut(*self._train)
        self._of_operation = {
            name: self.joined(
                [torch.tensor([o.operation == name for o in p.outputs]) for p in self.problems]
            ).bool()
            for name in self.operations
        }

    def losses(self, loss: torch.Tensor, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        return {LOSS_EPOCH: loss}

    def _each(self):
        return zip(self.problems, self.configs, strict=True)

    def _rows(self, of_runs: Sequence[Batch]) -> Batch:
        x, t = zip(*of_runs, strict=True)
        return self.joined(x), self.joined(t)

    def _cut(self, x: torch.Tensor, t: torch.Tensor) -> list[Batch]:
        """Return batches that lie in memory as products of matrices read them."""
        parts = (rows.split(self.config.batch_size, -2) for rows in (x, t))
        return [(x.contiguous(), t.contiguous()) for x, t in zip(*parts, strict=True)]

    @staticmethod
    def network(config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        if config.layer_type == "NALU":
            layer_options = {**layer_options, **NALU_VARIANTS[config.nalu_variant]}
        return MysteryNetwork(
            config.layer_type, config.input_size, config.output_size, **layer_options
        )

    def batches(self, unit: int) -> Iterator[Batch]:
        if not self.config.shuffle:
            return iter(self._batches)
        orders = [p.order(unit, self.config.train_size) for p in self.problems]
        index = torch.stack(orders) if self.stacked else orders[0]
        index = index.unsqueeze(-1).to(self.device)
        x, t = (torch.take_along_dim(rows, index, -2) for rows in self._train)
        return iter(self._cut(x, t))

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        train, test = (((model(x) - t) ** 2).mean(-2) for x, t in (self._train, self.test_rows))
        found = {MSE_TRAIN: train.mean(-1), MSE_TEST: test.mean(-1)}
        for name, of_operation in self._of_operation.items():
            # A problem that has none of an operation has no error of it, which is not a number.
            total = torch.where(of_operation, test, 0).sum(-1)
            found[f"{MSE_TEST}/{name}"] = total / of_operation.sum(-1)
        return found

    def texts(
        self, model: ExtendedTorchModule, *, first: bool, last: bool
    ) -> Mapping[str, Sequence[str]]:
        return {PROBLEM: [_table(problem) for problem in self.problems]} if first else {}

    def introduction(self) -> str:
        low, high = self.config.train_range
        count = self.config.train_size
        outputs = self.problems[0].outputs
        shown = [f"y{k} = {output.formula}" for k, output in enumerate(outputs[:_MOST_SHOWN])]
        more = ["..."] if len(outputs) > len(shown) else []
        first = f"dataset: a problem of {self.config.operations}, {count} rows on [{low}, {high}]"
        return "\n      ".join([first, *shown, *more])


def _problem_seed(config: Config) -> int:
    return config.seed if config.problem_seed is None else config.problem_seed


def _table(problem: MysteryProblem) -> str:
    """Return a table that TensorBoard shows as one."""
    rows = [f"| {k} | {o.i} | {o.operation} | {o.j} |" for k, o in enumerate(problem.outputs)]
    return "\n".join(["| output | input | operation | input |", "|---|---|---|---|", *rows])


KIND = kind(MysteryTask, EPOCHS, cost=100)
