"""Updates on pairs of digits, with the making of their images, against loops written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import torch

from stable_nalu.network.digit_reader import ApartClassifier, ConvHead, HalvesReader, build_reader
from stable_nalu.options import SCRIPTS
from stable_nalu.training.epochs.pairs import ISOLATED, SCATTERED, PairTask, PairTraining
from stable_nalu.training.stack import Setup

from .bare import NMU
from .clock import Cost, in_turn, spent
from .table import Row, compared, seconds

UPDATES = 6
REPEATS = 5
_WORDS = (
    "--operation mul --learn-labels2out --data-source digits --batch-size 64 "
    "--samples-per-permutation 20 --no-cuda"
)
_SPLINES = "--use-nalm --img2label-model TPS-no-concat-conv --optimizer adam --no-scheduler"


def rows() -> Iterator[Row]:
    """Measure both scripts."""
    halves, splines = HalvesReader(10), build_reader("TPS-no-concat-conv")
    # By torch's layers alone.
    halves.register_module("head", torch.nn.Sequential(*ConvHead(1, 9216, 10).children()))
    body = torch.nn.Sequential(*ConvHead(2, 4096, 10).children())
    splines.classifier = ApartClassifier(body)
    for name, unit, task, words, read, aim in (
        ("two_digit_mnist", "NMU", ISOLATED, "--use-nalm", halves, "0.5"),
        ("two_digit_mnist", "FC", ISOLATED, "", halves, "0.5"),
        ("ST_mnist_labels", "NMU", SCATTERED, _SPLINES, splines, "0.8"),
    ):
        costs = in_turn(*_loops(name, task, words, read), REPEATS)
        yield compared(f"{name}, {unit}: update / bare loop", costs, aim, seconds)


class _Product(torch.nn.Module):
    """Expected digits of a reader, multiplied by an NMU."""

    def __init__(self, read: torch.nn.Module):
        super().__init__()
        self.read = read
        self.cell = NMU(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map images to products (batch, 1)."""
        return self.cell(self.read(x).softmax(-1) @ torch.arange(10.0))


class _NoLog:
    def write(self, tagged) -> None:
        """Look at the values, keep nothing."""
        list(tagged)


def _loops(name: str, task: PairTask, words: str, read: torch.nn.Module):
    (config,) = SCRIPTS[name].plan(f"{_WORDS} {words}".split()).configs
    setup = Setup([config], [name], [{}], torch.device("cpu"), stacked=False)
    run = PairTraining(setup, task)
    run.recorder = _NoLog()  # type: ignore[assignment]
    made = list(islice(run.batches, UPDATES))
    model = _Product(read)
    optimizer = torch.optim.Adam(model.parameters())

    def of_the_script() -> Cost:
        return spent(_train) / UPDATES

    def _train() -> None:
        for update, batch in enumerate(islice(run.batches, UPDATES), start=1):
            run.train_batch(0, update, batch, at_log_point=False)

    def by_hand() -> Cost:
        return spent(_train_by_hand) / UPDATES

    def _train_by_hand() -> None:
        for images, answers, _ in made:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(images), answers).backward()
            optimizer.step()

    return of_the_script, by_hand
