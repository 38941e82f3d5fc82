"""Training on numbers written in words: `number_translation`.

The published script cannot start, so this implements its evident intent. It prints the same as the
repaired script, for NALU with seed 0 and no penalty:

    train 0: 281481.40625
    train 50: 325412.59375

With `--number-range paper` it trains on the split of the NALU paper and measures all three sets.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from stable_nalu import functional
from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.distribution import IndexLoader
from stable_nalu.dataset.number_translation import (
    PAPER,
    VOCABULARIES,
    encode,
    split_numbers,
    words_of,
)
from stable_nalu.network.sequences import NumberReaderNetwork, NumberTranslationNetwork
from stable_nalu.options import Config, Flag, FlagGroup, ScriptSpec
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import and_layers, buildable_layers, cell_names, choice, integer
from stable_nalu.training import floats
from stable_nalu.training.task import Batch, Goal, Kind, Logging, Observed, Task, Unit
from stable_nalu.writer.event_file import LOSS_VALID, METRIC, TRACE

from .shared import LAYER_OPTIONS, PENALTY_RAMP, YOUNG_OPTIMIZER, lower, table

LOG_EPOCHS = 50
GRADIENT_EPOCHS = 10
MODULE_STEPS = 150
SPLITS = "train", "valid", "test"
TRACED = 8
"""Test numbers whose value is followed from word to word."""


class TranslationTask(Task):
    """Learn the value of a sentence.

    Steps are batches, counted from 1, and all are logged, as published, with the error of the
    validation set. On the paper's split they are epochs, and every fiftieth is logged: errors on
    all three sets, and its first batch.
    """

    kind = Kind(
        Unit("epoch", "--max-epochs", counts=True),
        cost=60,
        reported=("seed", "layer_type", "cuda", "verbose", "max_epochs"),
    )
    logging = Logging(LOG_EPOCHS, updates=True, draws=True)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        if config.number_range == PAPER:
            return Goal(f"{METRIC}/valid/mse", f"{METRIC}/test/mse")
        return Goal(LOSS_VALID, None)

    def __init__(self, config: Config, device: torch.device):
        super().__init__(config, device)
        splits = split_numbers(config.seed, config.number_range)
        self._sets = {name: self._sentences(numbers) for name, numbers in splits.items()}
        self._training, self._validation = self._loader("train"), self._loader("valid")
        self._on_paper = config.number_range == PAPER
        self.logging = replace(self.logging, apart=self._on_paper)
        if self._on_paper:
            self._numbers = splits["test"][:TRACED]

    def _sentences(self, numbers: Sequence[int]) -> Batch:
        """Return word ids `(n, 5)` and values `(n, 1)` of numbers."""
        values = torch.tensor(numbers, dtype=torch.float32).unsqueeze(-1)
        ids = encode(numbers, self.config.number_range)
        return ids.to(self.device), floats(values, self.device)

    def _loader(self, name: str) -> IndexLoader:
        ids, values = self._sets[name]
        size = self.config.batch_size
        return IndexLoader(len(ids), size, True, lambda rows: (ids[rows], values[rows]))

    def network(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        final = config.head == "final"
        build = NumberReaderNetwork if final else NumberTranslationNetwork
        words = len(VOCABULARIES[config.number_range])
        sizes = config.embedding_size, config.hidden_size, words
        return build(config.layer_type, *sizes, **layer_options)

    def batches(self) -> IndexLoader:
        return self._training

    def observed(self, clock: int, *, at_log_point: bool) -> Observed | None:
        if self._on_paper and not at_log_point:
            return None
        verbose, begins = self.config.verbose, (clock - 1) % len(self._training) == 0
        modules = verbose and clock % MODULE_STEPS == 0
        gradients = verbose and (self._on_paper or begins) and self.at % GRADIENT_EPOCHS == 0
        return Observed(modules, modules, gradients, verbose=True)

    def measures(self, model: ExtendedTorchModule) -> Iterator[tuple[str, torch.Tensor | str]]:
        if self._on_paper:
            with model.no_random():
                yield from self._measured(model)
            return
        if self.at == self.config.max_epochs:
            self._error = self._error_on(self._training, model)
        yield LOSS_VALID, self._error_on(self._validation, model)

    def _error_on(self, batches: IndexLoader, model: ExtendedTorchModule) -> torch.Tensor:
        """Return the mean squared error over all rows, in the order of a shuffled epoch.

        As published, the model is in training mode.
        """
        errors = [functional.mse(model(x), t) * len(t) for x, t in batches]
        return torch.stack(errors).sum() / batches.count

    def _measured(self, model: ExtendedTorchModule) -> Iterator[tuple[str, torch.Tensor | str]]:
        """Yield errors on all sets, and what a model answers behind each word of some numbers."""
        for name in SPLITS:
            ids, values = self._sets[name]
            error = model(ids) - values
            yield f"{METRIC}/{name}/mae", error.abs().mean()
            yield f"{METRIC}/{name}/mse", (error**2).mean()
        traces = self._traces(model)
        for place, (number, values) in enumerate(zip(self._numbers, traces, strict=True)):
            yield f"{METRIC}/{TRACE}/{place}/number", torch.tensor(number, dtype=torch.float64)
            for word, value in enumerate(values, start=1):
                yield f"{METRIC}/{TRACE}/{place}/{word}", value
        missed = self.at == self.config.max_epochs and self.at % (self.logging.interval or 1)
        if self.config.verbose and not missed:
            for number, values in zip(self._numbers, traces.tolist(), strict=True):
                rows = zip(words_of(number, PAPER), map("{:.6g}".format, values), strict=False)
                yield f"{TRACE}/{number}", table(("word", "value"), rows)

    def _traces(self, model: ExtendedTorchModule) -> torch.Tensor:
        """Return the value behind each word, `(numbers, words)`, NaN behind their last word."""
        ids = self._sets["test"][0][:TRACED]
        words = ids.shape[-1]
        # Row k of a number has its first k + 1 words.
        shown = torch.ones(words, words, dtype=torch.bool, device=ids.device).tril()
        values = model((ids.unsqueeze(1) * shown).flatten(0, 1)).view(TRACED, words)
        return values.masked_fill(ids == 0, torch.nan).cpu()

    def results(
        self, errors: Mapping[str, float], measured: Mapping[str, Any], loss: float
    ) -> dict[str, float]:
        if self._on_paper:
            return {f"loss_{name}": measured[f"{METRIC}/{name}/mse"].item() for name in SPLITS}
        return {"loss_train": self._error.item(), "loss_valid": measured[LOSS_VALID].item()}


# A flag is a few lines of a table.
# fmt: off
def _check_head(c: Config) -> None:
    units, what, other = buildable_layers, "is a cell alone", "recurrent"
    if c.head == "recurrent":
        units, what, other = cell_names, "has no recurrent cell", "final"
    common.refuse(c.layer_type not in units(), "--layer-type", f"{c.layer_type} {what}",
        f"use --head {other}")


_TASK = FlagGroup(
    "Task",
    common.LAYER_TYPE.but(choices=and_layers(cell_names),
        help="Unit of the output's cell, or of the head, by its key or name."),
    common.SEED,
    Flag("--max-epochs", integer(0), 10000, "Number of passes over the training sentences."),
)
_READER = FlagGroup(
    "Numbers and network",
    choice("--number-range", "reference",
        "Numbers and their split: 1 to 999 as in published code, or 0 to 999 as in the NALU paper, "
        "where errors on all three sets are logged by epochs.", ("reference", "paper"), young=True,
        in_name="n-{number_range}"),
    choice("--head", "recurrent",
        "What answers: a cell that accumulates over the LSTM's outputs, as in published code, or a "
        "layer that reads the last one, as in the NALU paper.", ("recurrent", "final"), young=True,
        in_name="head-{head}"),
    Flag("--embedding-size", integer(1), 2, "Length of the vector of a word.", young=True,
        in_name="e{embedding_size}"),
    Flag("--hidden-size", integer(1), 2, "Width of the LSTM.", young=True,
        in_name="h{hidden_size}"),
    Flag("--batch-size", integer(1), 64, "Number of sentences in a training batch.", young=True),
    *YOUNG_OPTIMIZER,
)
SCRIPT = ScriptSpec(
    name="number_translation",
    summary="Train a network to read numbers in words.",
    example="--layer-type NAC --max-epochs 1000",
    groups=(_TASK, _READER, *LAYER_OPTIONS,
        common.files_and_devices("number_translation", "Epochs")),
    name_fields=(
        lower("layer_type"), nf.template("{seed}"), *nf.LAYER_OPTIONS_TRAILING,
        *nf.of_flags(*_READER), *nf.all_trailing(nf.BATCH_SIZE, nf.RATE, nf.GRAD_NORM),
    ),
    checks=(_check_head, common.check_nalu, common.check_optimizer, common.check_device,
        common.check_files),
    counts_epochs=True, fixed=PENALTY_RAMP,
)
TASK = TranslationTask
