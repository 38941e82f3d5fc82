"""Runs on pairs of digits: start weights, data, schedules, what applies to the last layer alone."""

import numpy as np
import pytest
import torch

from stable_nalu.dataset.digit_pairs import draw_pair_sets, fold_pairs
from stable_nalu.dataset.distribution import LegacyRandom
from stable_nalu.dataset.images import PixelTable, load_corpus
from stable_nalu.task.pairs import PairTask, ScatteredTask
from stable_nalu.task.table import SCRIPTS
from stable_nalu.training.loop import Training
from stable_nalu.training.runs import PlannedRun

TINY = "--data-source digits --samples-per-permutation 1"


def config_of(script, words):
    (config,) = SCRIPTS[script].plan(f"{TINY} {words}".split()).configs
    return config


def training(script, words, task):
    return Training(task, [PlannedRun(config_of(script, words), "t", {})])


def isolated(words=""):
    return training("two_digit_mnist", words, PairTask)


def scattered(words=""):
    return training("ST_mnist_labels", words, ScatteredTask)


def test_images_side_by_side():
    run = isolated("--operation mul --seed 2 --batch-size 10")
    corpora = [load_corpus("mnist", "digits", part) for part in ("train", "test")]
    folds = fold_pairs("mul", 10, 2)
    labels = [corpus.labels for corpus in corpora]
    sets = draw_pair_sets(LegacyRandom(2), 2, "mul", folds, labels, 1)
    images, answers, digits = next(iter(run.task.sets["test"]))
    assert images.shape == (10, 1, 28, 56)
    assert np.array_equal(digits.numpy(), sets[1].digits)
    assert np.array_equal(answers[:, 0].numpy(), digits.prod(1).numpy())
    left, right = sets[1].images[4]
    pixels = PixelTable.mnist()
    both = [corpora[1].images[left], corpora[1].images[right]]
    expected = pixels(torch.from_numpy(np.concatenate(both, axis=1)))
    assert torch.equal(images[4, 0], expected)
    assert expected.min() == pytest.approx(-0.424212962)


def test_the_learning_rate_falls_in_steps():
    run = scattered("--learning-rate 1e-3 --scheduler-step-size 2")
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1e-3)
    published = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.1)
    for epoch in range(12):
        run.task.at = epoch
        run.task.begin(run.step)
        assert run.step.optimizer.learning_rate == optimizer.param_groups[0]["lr"]
        optimizer.step()
        published.step()
    constant = scattered("--learning-rate 1.0 --scheduler-step-size 2 --no-scheduler")
    constant.task.at = 11
    constant.task.begin(constant.step)
    assert constant.step.optimizer.learning_rate == 1


def test_the_temperature_falls_to_a_thousandth():
    run = isolated("--use-tau --max-epochs 4")
    temperatures = []
    for epoch in range(6):
        run.task.at = epoch
        run.task.begin(run.step)
        temperatures.append(run.model.expected.temperature)
    assert temperatures == pytest.approx([1, 0.75025, 0.5005, 0.25075, 1e-3, 1e-3])
    without = isolated("--max-epochs 4")
    without.task.at = 3
    without.task.begin(without.step)
    assert without.model.expected.temperature == 1


def test_penalties_follow_epochs():
    run = isolated(
        "--operation mul --use-nalm --learn-labels2out --batch-size 8 --regualizer 100 "
        "--regualizer-scaling-start 30 --regualizer-scaling-end 40"
    )
    images, answers, _ = next(iter(run.loader))
    run.model.eval()
    W = run.model.answer.W.detach()
    expected = torch.minimum(W, 1 - W).mean() * 100
    for epoch, share in ((0, 0), (30, 0), (33, 0.3), (40, 1), (99, 1)):
        criterion, penalty, total = run.step.loss(images, answers, *run.step.prepare(epoch))
        assert criterion.item() == pytest.approx(
            ((run.model(images) - answers) ** 2).mean().item(), rel=1e-5
        )
        found = 0 if penalty is None else penalty.item()
        assert found == pytest.approx(share * expected.item(), rel=1e-5)
        assert total.item() == pytest.approx(criterion.item() + found, rel=1e-5)


def returned(steps):
    """What a generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def gradients_of(words):
    run = isolated(f"--operation mul --use-nalm --learn-labels2out --batch-size 8 {words}")
    run.model.eval()
    images, answers, _ = next(iter(run.loader))
    total = run.step.loss(images, answers, *run.step.prepare(0))[2]
    return run, [g.detach() for g in run.step.gradients(total)]


def test_weight_decay_is_that_of_adam_on_the_last_layer():
    words = "--weight-decay 0.1 --learning-rate 0.01"
    run, gradients = gradients_of(words)
    _, free = gradients_of("")
    torch_weight = torch.nn.Parameter(run.model.answer.W.detach().clone())
    optimizer = torch.optim.Adam([torch_weight], lr=0.01, weight_decay=0.1)
    torch_weight.grad = free[-1].clone()
    optimizer.step()
    before = [p.detach().clone() for p in run.step.parameters]
    run.step.update(gradients, torch.tensor(0.0))
    torch.testing.assert_close(run.model.answer.W, torch_weight)
    for gradient, plain in zip(gradients[:-1], free[:-1], strict=True):
        assert torch.equal(gradient, plain)
    assert not torch.equal(before[0], run.step.parameters[0])
