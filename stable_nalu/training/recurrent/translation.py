"""Training on numbers written in words: `number_translation`.

The published script cannot start, so this is what it meant to do. What is known of it is what it
prints when repaired, for NALU with seed 0 and no penalty, and this gives the same:

    train 0: 281481.40625
    train 50: 325412.59375

With `--number-range paper` it trains on the split of the NALU paper and measures all three sets.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset import NumberTranslationDataset, TensorLoader
from stable_nalu.dataset.number_translation import PAPER, SENTENCE_LENGTH, VOCABULARIES, words_of
from stable_nalu.network.number_translation import NumberReaderNetwork, NumberTranslationNetwork
from stable_nalu.options import Config
from stable_nalu.tags import LOSS_VALID, METRIC, RESULT_TEST, RESULT_VALID, TRACE

from ..checkpoint import LOGGED
from ..recorder import TaggedValue, scalar
from ..stack import Kind, Setup, Unit
from .training import Batch, RecurrentTraining

LOG_EPOCHS = 50
GRADIENT_EPOCHS = 10
MODULE_STEPS = 150
COST = 60


SPLITS = "train", "valid", "test"
TRACED = 8
"""Test numbers whose value is followed from word to word."""


def build_network(config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
    """Build the network of a configuration."""
    build = NumberReaderNetwork if config.head == "final" else NumberTranslationNetwork
    return build(
        config.layer_type,
        config.embedding_size,
        config.hidden_size,
        len(VOCABULARIES[config.number_range]),
        **layer_options,
    )


class TranslationTraining(RecurrentTraining):
    """Trains `--max-epochs` epochs.

    Steps are batches, counted from 1, and all are logged, as published. On the paper's split they
    are epochs, and every fiftieth is logged: what it starts from, and its first batch.
    """

    reported = ("seed", "layer_type", "cuda", "verbose", "max_epochs")
    errors = {RESULT_VALID: "loss_valid"}

    def __init__(self, setup: Setup):
        super().__init__(setup, build_network)
        self.length = self.config.max_epochs
        number_range, size = self.config.number_range, self.config.batch_size
        datasets = [NumberTranslationDataset(c.seed, number_range) for c in setup.configs]
        self._training, self._validation = (
            [dataset.fork(subset).dataloader(size) for dataset in datasets]
            for subset in ("train", "valid")
        )
        self._measured = None
        if number_range == PAPER:
            self._measured = MeasuredSplits(datasets, self.joined)
            self.errors = {**self.errors, RESULT_TEST: "loss_test"}
            self.clock_name = "epoch"

    def train(self) -> Generator[int, None, None]:
        while self.at < self.length and not self.all_diverged:
            yield self.at
            if self.at == 0:
                self._log_measures(0)
            self._epoch()
            if self.all_diverged:
                return
            if (self.at + 1) % LOG_EPOCHS == 0:
                self._log_measures(self.at + 1)
            self.at += 1
            self.view.advance(1)

    def _log_measures(self, epochs: int) -> None:
        """Log the errors of a model that so many epochs have trained, on the paper's split."""
        if self._measured is None:
            return
        self.clock = epochs
        self.freeze_diverged()
        found = self._measured.errors(self._read)
        traces = self._measured.traces(self._read)
        self.recorder.write(scalar(tag, value) for tag, value in found.items())
        self.recorder.write(self._measured.tagged(traces))
        if self.config.verbose:
            for run, texts in enumerate(self._measured.texts(traces)):
                for tag, text in texts.items() if self.recorder.live[run] else ():
                    self.recorder.text(run, tag, text, rooted=False)
        self.recorder.commit(epochs)

    @torch.no_grad()
    def _read(self, ids: torch.Tensor) -> torch.Tensor:
        with self.model.no_random():
            return self.model(ids.to(self.device))

    def _epoch(self) -> None:
        verbose, first = self.config.verbose, self.at * len(self._training[0]) + 1
        for batch, batches in enumerate(self._batches(self._training)):
            at_log_point = batch == 0 and self.at % LOG_EPOCHS == 0
            clock = first + batch if self._measured is None else self.at
            if not self.begin(clock, at_log_point=at_log_point):
                return
            if self._measured is not None and not at_log_point:
                self.train_silently(self.joined(batches))
                continue
            if at_log_point and self._measured is None:
                self.write(LOSS_VALID, self._loader_error(self._validation))
            result = self.train_batch(
                self.joined(batches),
                modules=verbose and self.clock % MODULE_STEPS == 0,
                gradients=verbose and batch == 0 and self.at % GRADIENT_EPOCHS == 0,
            )
            if at_log_point:
                self.show(result)

    def _batches(self, loaders: Sequence[TensorLoader]) -> Iterator[list[Batch]]:
        """Yield a batch of each run, in an order drawn from its own generator."""
        epochs = []
        for run, loader in enumerate(loaders):
            with self.generator_of(run):
                epochs.append(loader.batches(loader.begin()))
        for batches in zip(*epochs, strict=True):
            yield [(x, t) for x, t in batches]

    def _loader_error(self, loaders: Sequence[TensorLoader]) -> torch.Tensor:
        """Return the mean squared error over all rows, in the order of a shuffled epoch."""
        errors, rows = [], 0
        for batches in self._batches(loaders):
            x, t = self.joined(batches)
            errors.append(self.error(x, t) * t.shape[-2])
            rows += t.shape[-2]
        return torch.stack(errors).sum(0) / rows

    def final_losses(self) -> dict[str, torch.Tensor]:
        if self._measured is not None:
            found = self._measured.errors(self._read)
            if self.length % LOG_EPOCHS:
                traces = self._measured.tagged(self._measured.traces(self._read))
                self.last_row = [*(scalar(*pair) for pair in found.items()), *traces]
            return {f"loss_{name}": found[f"{METRIC}/{name}/mse"] for name in SPLITS}
        found = {
            "loss_train": self._loader_error(self._training),
            "loss_valid": self._loader_error(self._validation),
        }
        if self.length and (self.length - 1) % LOG_EPOCHS:
            self.last_row = [scalar(LOSS_VALID, found["loss_valid"])]
        return found

    @property
    def end_clock(self) -> int:
        return self.clock if self._measured is None else self.length

    def progress(self, run: int) -> dict[str, Any]:
        return {}

    def set_progress(self, run: int, progress: Mapping[str, Any]) -> None:
        """Do nothing: the epoch, the model and the generator tell all."""


class MeasuredSplits:
    """All sentences of the three sets of each run, and what is measured on them.

    joined: makes one batch of those of all runs.
    """

    def __init__(
        self,
        datasets: Sequence[NumberTranslationDataset],
        joined: Callable[[Sequence[Batch]], Batch],
    ):
        subsets = {name: [d.fork(name) for d in datasets] for name in SPLITS}
        self._sets = {name: joined([(s.ids, s.values) for s in subsets[name]]) for name in SPLITS}
        self._numbers = [d.splits["test"][:TRACED] for d in datasets]
        self._stacked = self._sets["test"][0].ndim > 2
        ids = self._sets["test"][0][..., :TRACED, :]
        # Row k of a number has its first k + 1 words.
        shown = torch.ones(SENTENCE_LENGTH, SENTENCE_LENGTH, dtype=torch.bool).tril()
        self._beginnings = (ids.unsqueeze(-2) * shown).flatten(-3, -2)
        self._is_word = ids != 0

    def errors(self, read: Callable[[torch.Tensor], torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return mean absolute and mean squared errors of shape `runs`, by their tags."""
        found: dict[str, torch.Tensor] = {}
        for name, (ids, values) in self._sets.items():
            y = read(ids)
            error = y - values.to(y)
            found[f"{METRIC}/{name}/mae"] = error.abs().mean((-2, -1))
            found[f"{METRIC}/{name}/mse"] = (error**2).mean((-2, -1))
        return found

    def traces(self, read: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        """Return the value behind each word of some numbers, `(*runs, numbers, words)`.

        It is NaN behind their last word.
        """
        values = read(self._beginnings).squeeze(-1).unflatten(-1, (TRACED, SENTENCE_LENGTH))
        return values.cpu().masked_fill(~self._is_word, torch.nan)

    def tagged(self, traces: torch.Tensor) -> Iterator[TaggedValue]:
        """Yield the numbers of `traces`, and the values behind their words, by their tags."""
        numbers = torch.tensor(self._numbers, dtype=torch.float64)
        for place in range(TRACED):
            number = numbers[:, place] if self._stacked else numbers[0, place]
            yield scalar(f"{METRIC}/{TRACE}/{place}/number", number)
            for word in range(SENTENCE_LENGTH):
                yield scalar(f"{METRIC}/{TRACE}/{place}/{word + 1}", traces[..., place, word])

    def texts(self, traces: torch.Tensor) -> Iterator[dict[str, str]]:
        """Yield the texts of each run by their tags: a table of the values behind the words."""
        of_runs = traces if self._stacked else traces.unsqueeze(0)
        for numbers, values in zip(self._numbers, of_runs.tolist(), strict=True):
            texts: dict[str, str] = {}
            for number, own in zip(numbers, values, strict=True):
                words = words_of(number, PAPER)
                rows = (
                    f"| {word} | {value:.6g} |" for word, value in zip(words, own, strict=False)
                )
                texts[f"{TRACE}/{number}"] = "\n".join(("| word | value |", "|---|---|", *rows))
            yield texts


KINDS = {
    "number_translation": Kind(
        TranslationTraining,
        Unit("epoch", "--max-epochs", "epoch", counts=True),
        LOGGED,
        cost=COST,
        shown=TranslationTraining.shown,
    )
}
