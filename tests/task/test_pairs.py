"""Runs on pairs of digits: start weights, data, schedules, what applies to the last layer alone."""

import numpy as np
import pytest
import torch

from stable_nalu.dataset.distribution import LegacyRandom
from stable_nalu.dataset.images import PixelTable, draw_pair_sets, fold_pairs, load_corpus
from stable_nalu.figure.curves import accuracies
from stable_nalu.task.pairs import PairTask, ScatteredTask, class_counts, pair_metrics
from stable_nalu.task.table import SCRIPTS
from stable_nalu.training.checkpoint import PlannedRun
from stable_nalu.training.loop import Training

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
    run.step.optimizer.step(gradients)
    torch.testing.assert_close(run.model.answer.W, torch_weight)
    for gradient, plain in zip(gradients[:-1], free[:-1], strict=True):
        assert torch.equal(gradient, plain)
    assert not torch.equal(before[0], run.step.parameters[0])


TRUE = torch.tensor([[6.0, 2.0, 3.0], [8.0, 2.0, 4.0], [63.0, 9.0, 7.0], [0.5, 1.0, 2.0]])
PREDICTED = torch.tensor([[6.0, 2.4, 3.0], [8.5, 2.5, 4.0], [60.0, 9.0, 6.5], [0.500004, 1.0, 1.5]])


def test_values_and_their_order():
    found = dict(pair_metrics(PREDICTED, TRUE, loss="mse", decimals=True))
    assert list(found) == [
        "output/mse",
        "label1/mse",
        "label2/mse",
        "output/acc",
        "label1/acc",
        "label2/acc",
        "output_rounded/acc",
        "label1_rounded/acc",
        "label2_rounded/acc",
        "output_rounded_4dp/acc",
        "output_rounded_5dp/acc",
    ]
    assert found["output/mse"] == pytest.approx((0.25 + 9 + 16e-12) / 4)
    assert found["label1/mse"] == pytest.approx((0.16 + 0.25) / 4)
    assert (found["output/acc"], found["label1/acc"], found["label2/acc"]) == (25, 50, 50)
    # 8.5 rounds to 8, 2.5 to 2, 6.5 to 6: halves to even numbers. A quotient of 0.5 is not rounded.
    assert found["output_rounded/acc"] == 50
    assert found["label1_rounded/acc"] == 100
    assert found["label2_rounded/acc"] == 75
    assert found["output_rounded_4dp/acc"] == 50
    assert found["output_rounded_5dp/acc"] == 50


def test_a_rounded_quotient_is_compared_with_the_quotient_itself():
    true = torch.tensor([[1.5, 3.0, 2.0], [2.0, 4.0, 2.0], [0.25, 1.0, 4.0]])
    found = dict(pair_metrics(true + 0.1, true, loss="mse", decimals=True))
    assert found["output_rounded/acc"] == pytest.approx(100 / 3)
    assert found["label1_rounded/acc"] == found["label2_rounded/acc"] == 100


def test_classes_cut_off_and_rounded():
    digits = np.array([[2.9999, 8.99], [0.4, 9.0]])
    true = np.array([[3, 9], [0, 9]])
    cut, rounded = (class_counts(digits, true, rounded=r) for r in (False, True))
    assert (cut[3, 2], cut[9, 8], cut[9, 9], cut[0, 0]) == (1, 1, 1, 1)
    assert (rounded[3, 3], rounded[9, 9], rounded[0, 0]) == (1, 2, 1)
    assert cut.sum() == rounded.sum() == 4
    shares = accuracies(cut)["accuracy"].to_numpy()
    assert (shares[0], shares[3], shares[9]) == (1, 0, 0.5)
    assert np.isnan(shares[5])
