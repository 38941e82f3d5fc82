"""Runs on images of digits: kept as measures, after fewer epochs than the published ones."""

import csv

import pandas as pd
import pytest

from stable_nalu.dataset import images as sources
from stable_nalu.dataset.images import ImageCorpus
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result import reproduce, stored
from stable_nalu.result.judged import judged_runs, point_columns, runs_of
from stable_nalu.result.trained import Folders
from tests.digit_images import images as drawn
from tests.digit_images import labels_of, write_mnist
from tests.result.made_up import SESSION
from tests.result.tiny import in_this_process  # noqa: F401
from tools.kept_runs import as_exported
from tools.notes import cut_short

PRODUCTS, PAIRS = "sequential_mnist_prod_long", "static-mnist-mul-isolated"


@pytest.fixture
def images(monkeypatch):
    """Forget afterwards where images were said to be."""
    monkeypatch.setenv("IMAGE_DIR", "elsewhere")


def made_up(key, epochs):
    experiment = EXPERIMENTS[key]
    rows = []
    for model in experiment.models[:2]:
        row = {"model": model.key, "seed": 0, "iterations": epochs * model.steps_per_epoch}
        point = dict.fromkeys(point_columns(key), "mul")
        numbers = {measure.column: 0.5 for measure in experiment.measures}
        rows.append(row | point | numbers | {"diverged": 0})
    return pd.DataFrame(rows)


@pytest.mark.parametrize("key", [PRODUCTS, PAIRS])
def test_epochs_are_named_beside_the_published_ones(key, tmp_path):
    experiment = EXPERIMENTS[key]
    stored.add(experiment, made_up(key, 21), [SESSION], tmp_path)
    assert stored.kept_keys(tmp_path, measured=True) == [key]
    actual = cut_short(experiment, stored.read(key, tmp_path))
    first, second = (model.label for model in experiment.models[:2])
    assert actual == f"{first} 21 of 1,001; {second} 21 of 1,001 epochs"


def test_curves_are_kept_by_epoch_and_come_out_as_exported(tmp_path):
    experiment, space = EXPERIMENTS[PAIRS], Folders(tmp_path, 2112)
    model = experiment.model("mul")
    (run,) = runs_of(model, (0,), space.max_iterations)
    column = "metric.test.output_rounded.acc"
    shares = {0: 10.9, 1: 67.374, 2: 80.85}
    rows = [
        {"name": run.leaf, "step": 704 * epoch, "epoch": epoch}
        | {column: share, "metric.test.label1.acc": share / 5}
        for epoch, share in shares.items()
    ]
    kept = judged_runs(experiment, {model.csv: pd.DataFrame(rows)}, [run], lambda text: None)
    assert kept.loc[0, [column, *(f"{column}@{epoch}" for epoch in shares)]].tolist() == [
        80.85,
        10.9,
        67.37,
        80.85,
    ]
    assert f"{column}@3" not in kept
    stored.add(experiment, kept.drop(columns="name"), [SESSION], tmp_path)
    again = as_exported(PAIRS, model.csv, tmp_path)
    assert dict(zip(again["epoch"], again[column], strict=True)) == {0: 10.9, 1: 67.37, 2: 80.85}
    assert again["metric.test.label1.acc"].tolist() == pytest.approx([2.18, 13.47, 16.17])


def test_an_epoch_of_products_of_digits(images, in_this_process, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(sources, "VALIDATION_IMAGES", {"mnist": 20})
    corpus = ImageCorpus(drawn(60, 28, 28), labels_of(60, 7, 3))
    write_mnist(tmp_path, monkeypatch, corpus, corpus)
    words = [PRODUCTS, "--model", "nmu", "--seeds", "0", "--max-iterations", "1", "--keep"]
    folders = ["--out", str(tmp_path), "--data", str(tmp_path), "--data-dir", str(tmp_path)]
    # The figure needs the reference, too.
    assert reproduce.main([*words, *folders]) == 1
    with stored.path_of(PRODUCTS, tmp_path).open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["iterations"] == "388"
    assert 0 < float(row["metric.test.extrapolation.2.mse"]) < 1000
