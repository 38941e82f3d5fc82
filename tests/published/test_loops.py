"""Loops written for the published package, on its names alone, and the figures they give."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

import stable_nalu as sn
from stable_nalu.dataset import images

FIXTURES = Path(__file__).parents[1] / "golden" / "fixtures"


@pytest.fixture(autouse=True)
def roots(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORBOARD_DIR", str(tmp_path / "tensorboard"))
    monkeypatch.setenv("SAVE_DIR", str(tmp_path / "save"))
    return tmp_path


def golden(file, name):
    rows = json.loads((FIXTURES / f"{file}.json").read_text())
    return next(row for row in rows if row["name"] == name)["series"]


def ramp(step, start, end):
    return min(1.0, max(0.0, (step - start) / (end - start)))


def arithmetic_loop(network, data, ranges, *, steps, weight, start, end, every=100):
    """Errors at log points, as in the published scripts of arithmetic."""
    log = sn.writer.SummaryWriter("loop/run", remove_existing_data=True)
    batches = iter(data.fork(sample_range=ranges[0]).dataloader(batch_size=128))
    valid = next(iter(data.fork(ranges[0], seed=43953907).dataloader(batch_size=10000)))
    test = next(iter(data.fork(ranges[1], seed=8689336).dataloader(batch_size=10000)))
    model = network(log.every(every))
    model.reset_parameters()
    optimizer, mse = torch.optim.Adam(model.parameters()), torch.nn.MSELoss()
    found = {}
    for step, (x, t) in zip(range(steps + 1), batches, strict=False):
        log.set_iteration(step)
        model.set_parameter("tau", max(0.5, math.exp(-1e-5 * step)))
        optimizer.zero_grad()
        if step % every == 0:
            with torch.no_grad(), model.no_internal_logging(), model.no_random():
                found[step] = [mse(model(x), t).item() for x, t in (valid, test)]
                log.add_scalar("metric/valid/interpolation", found[step][0], verbose_only=False)
        error, penalties = mse(model(x), t), model.regualizer()
        scale = weight * ramp(step, start, end)
        (error + scale * penalties["W"] + penalties["g"] + penalties["W-OOB"]).backward()
        optimizer.step()
        model.optimize(error.detach())
        model.log_gradients()
    log.close()
    return found


def assert_golden(found, series):
    for tag, place in (("metric/valid/interpolation", 0), ("metric/test/extrapolation", 1)):
        for step, value in series[tag]:
            assert found[step][place] == pytest.approx(value, rel=1e-4), (tag, step)


def test_two_layers_give_the_golden_figures():
    data = sn.dataset.SimpleFunctionStaticDataset("mul", seed=0)

    def network(writer):
        torch.manual_seed(0)
        return sn.network.SimpleFunctionStaticNetwork(
            "ReRegualizedLinearNAC",
            data.get_input_size(),
            nac_mul="mnac",
            nac_oob="clip",
            regualizer_shape="linear",
            mnac_epsilon=0,
            writer=writer,
        )

    found = arithmetic_loop(
        network, data, ([1, 2], [2, 6]), steps=500, weight=10, start=200, end=600
    )
    assert_golden(found, golden("simple_function_static", "fs_nmu_s0"))


def test_a_single_layer_gives_the_golden_figures():
    data = sn.dataset.SimpleFunctionStaticDataset(
        "add", 2, subset_ratio=0.5, overlap_ratio=0, seed=0
    )

    def network(writer):
        torch.manual_seed(0)
        return sn.network.SingleLayerNetwork(
            "ReRegualizedLinearNAC", 2, writer=writer, nac_oob="clip", regualizer_shape="linear"
        )

    found = arithmetic_loop(
        network, data, ([-2, 2], [[-6, -2], [2, 6]]), steps=1000, weight=0.01, start=200, end=350
    )
    assert_golden(found, golden("single_layer_benchmark", "bm_nau_s0_m"))


def test_words_give_the_losses_that_are_known():
    """Of the published script two losses are known, of the first batches of two epochs."""
    torch.manual_seed(0)
    data = sn.dataset.NumberTranslationDataset(seed=0)
    model = sn.network.NumberTranslationNetwork("NALU")
    model.reset_parameters()
    optimizer, mse = torch.optim.Adam(model.parameters()), torch.nn.MSELoss()
    train, valid = (data.fork(subset).dataloader() for subset in ("train", "valid"))
    losses = []
    for epoch in range(51):
        for batch, (x, t) in enumerate(train):
            if batch == 0 and epoch % 50 == 0:
                with torch.no_grad(), model.no_internal_logging(), model.no_random():
                    assert sum(len(t) for _, t in valid) == 200
            optimizer.zero_grad()
            loss = mse(model(x), t)
            losses += [loss.item()] * (batch == 0)
            loss.backward()
            optimizer.step()
            model.optimize(loss.detach())
    assert losses[0] == pytest.approx(281481.40625, rel=1e-7)
    assert losses[50] == pytest.approx(325412.59375, rel=1e-6)


def trained(model, batches, updates, answer=lambda y: y):
    """Losses of some updates by the published protocol."""
    optimizer, mse = torch.optim.Adam(model.parameters(), lr=1e-2), torch.nn.MSELoss()
    model.reset_parameters()
    losses = []
    for (x, t), _ in zip(batches, range(updates), strict=False):
        optimizer.zero_grad()
        loss = mse(answer(model(x)), t)
        (loss + 0.01 * sum(model.regualizer().values())).backward()
        optimizer.step()
        model.optimize(loss.detach())
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("unit", ["ReRegualizedLinearNAC", "LSTM"])
def test_sums_over_time(unit):
    data = sn.dataset.SimpleFunctionRecurrentDataset("add", 10, seed=0)
    stream = data.fork(seq_length=3).dataloader(batch_size=64)
    log = sn.writer.SummaryWriter("sums/run")
    options = {"nac_oob": "clip", "regualizer_shape": "linear", "writer": log.every(10)}
    model = sn.network.SimpleFunctionRecurrentNetwork(unit, data.get_input_size(), **options)
    losses = trained(model, stream, 60)
    assert losses[-1] < losses[0]
    log.close()


@pytest.fixture
def few_images(monkeypatch):
    """Twelve images of each digit in place of the published ones, brighter for larger digits."""

    def corpus(family, source, split, folder=None):
        labels = np.arange(120) % 10
        shape = (120, 28, 28) if family == "mnist" else (120, 32, 32, 3)
        pixels = labels.reshape(-1, *[1] * (len(shape) - 1)) * np.ones(shape)
        return images.ImageCorpus((25 * pixels).astype(np.uint8), labels.astype(np.int64))

    monkeypatch.setattr(images, "load_corpus", corpus)
    monkeypatch.setattr(images, "VALIDATION_IMAGES", {"mnist": 20, "svhn": 20})


def test_digits_and_their_sums(few_images):
    data = sn.dataset.SequentialMnistDataset("cumsum", seed=0)
    train, valid = data.fork(seq_length=2), data.fork(seq_length=2, subset="valid", seed=1)
    assert (len(train), len(valid), len(train.dataloader(batch_size=8))) == (50, 10, 7)
    model = sn.network.SequentialMnistNetwork("ReRegualizedLinearNAC", 1, nac_oob="clip")
    losses = trained(model, train.dataloader(batch_size=8), 5, lambda y: y[1])
    assert losses[-1] < losses[0]
    reader = sn.network.RegressionMnistNetwork(mnist_digits=range(10))
    x, t = valid[0]
    assert reader(x).shape == (2, 1)
    assert t.shape == (2, 1)
    assert data.get_item_shape().target == (None, 1)
    labels, sums = model(valid[0:3][0])
    assert labels.shape == sums.shape == (3, 2, 1)


@pytest.mark.slow
def test_house_numbers_and_their_products(few_images):
    data = sn.dataset.SequentialSvhnDataset("cumprod", svhn_digits=[1, 2, 3], seed=0)
    train = data.fork(seq_length=2)
    model = sn.network.SequentialSvhnNetwork(
        "ReRegualizedLinearNAC", 1, nac_mul="mnac", nac_oob="clip"
    )
    losses = trained(model, train.dataloader(batch_size=4), 2, lambda y: y[1])
    assert len(losses) == 2
    assert all(math.isfinite(loss) for loss in losses)
