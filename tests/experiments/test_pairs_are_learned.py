"""On real digits and pairs held out from training, an NMU lets a network find the digits."""

from unittest import mock

import pytest
import torch

from stable_nalu.training import shell
from stable_nalu.training.loop import Training
from tests.experiments.scripts import run
from tests.task.test_pairs import returned
from tests.turn import weekly

WORDS = (
    "--operation mul --data-source digits --samples-per-permutation 20 --batch-size 16 "
    "--log-interval 3 --seed 1 --no-save --use-nalm --learn-labels2out --id 1 --max-epochs 2"
)


@pytest.mark.slow
@weekly(0)
def test_an_nmu_finds_digits(monkeypatch):
    """What is asked is far from what is found, because image networks round by processor."""
    monkeypatch.setenv("LSB_DJOB_NUMPROC", "1")
    runs = []

    class Kept(Training):
        def __init__(self, *stack):
            super().__init__(*stack)
            runs.append(self)

    with mock.patch.object(shell, "Training", Kept):
        assert run("two_digit_mnist", WORDS) == 0
    made = runs[-1]  # one is built before to see whether it can be
    with torch.no_grad():
        # Answer, left and right digit of every pair, as predicted and as they are.
        nmu, true = returned(made.task.predictions(made.model, made.task.sets["test"]))
    errors, of_one_answer = ((nmu - true) ** 2).mean(0), true.var(0, correction=0)
    # Found: a quarter of the error of the best single answer, at most 0.6 of that of any digit.
    assert (errors < of_one_answer * torch.tensor([0.5, 1, 1])).all()
    # Found: 0.85 and more.
    assert all(torch.corrcoef(torch.stack((nmu, true))[..., k])[0, 1] > 0.5 for k in (1, 2))
