"""Batch scripts of digit sequences plan the published commands."""

import shlex
from itertools import product
from pathlib import Path

import pytest

from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result import batch
from stable_nalu.task import SCRIPTS

TO_20, TO_9 = list(range(1, 21)), list(range(1, 10))
OF_SUMS = [1, 10, *range(100, 1001, 100)]
NMU = ("ReRegualizedLinearNAC", "mnac")
NAC_MUL, NAC_SIGMA = ("NAC", "normal"), ("PosNAC", "normal")
NAC_NMU = ("ReRegualizedLinearPosNAC", "normal")
NALU, LSTM = ("NALU", "none"), ("LSTM", "none")
FIVE = [(NAC_MUL, 0), (NAC_SIGMA, 0), (NALU, 0), (NMU, 1), (LSTM, 0)]
LONG = [*FIVE, (NMU, 0), (NAC_NMU, 0), (NAC_NMU, 1)]
NAC_ADD, NAU = ("NAC", "none"), ("ReRegualizedLinearNAC", "none")


def configs(key, *, reference=False):
    """What every command of an experiment trains, first seed only."""
    for model in EXPERIMENTS[key].models:
        if (model.key == "reference") == reference:
            for command in model.commands(model.seeds[:1]):
                yield model, SCRIPTS[model.script].plan(command.words).configs[0]


def units(key):
    return sorted(((c.layer_type, c.nac_mul), int(c.regualizer_z)) for _, c in configs(key))


def assert_all(key, *, reference=False, seeds, **expected):
    for model, config in configs(key, reference=reference):
        assert list(model.seeds) == list(seeds)
        found = {name: getattr(config, name) for name in expected}
        assert found == expected, model.key


PRODUCT = {"operation": "cumprod", "mnist_digits": TO_9, "max_epochs": 1000, "batch_size": 64}
SUM = {"operation": "cumsum", "mnist_digits": list(range(10)), "max_epochs": 1000}
DEFAULTS = {
    "regualizer": 10,
    "regualizer_oob": 1,
    "regualizer_scaling_start": 10000,
    "regualizer_scaling_end": 100000,
    "nac_oob": "clip",
    "train_criterion": "mse",
}


def test_products():
    key = "sequential_mnist_prod_long"
    lengths = {"interpolation_length": 2, "extrapolation_lengths": TO_20}
    assert_all(key, seeds=range(10), verbose=True, **PRODUCT, **DEFAULTS, **lengths)
    assert units(key) == sorted(LONG)
    solved = {"model_simplification": "solved-accumulator", "nac_mul": "mnac", "regualizer_z": 0}
    assert_all(key, reference=True, seeds=range(10), **PRODUCT, **lengths, **solved)


def test_sums():
    key = "sequential_mnist_sum_long"
    lengths = {"interpolation_length": 10, "extrapolation_lengths": OF_SUMS}
    assert_all(key, seeds=range(10), verbose=True, **SUM, **DEFAULTS, **lengths)
    assert units(key) == sorted(
        [(NAC_ADD, 0), (NAC_ADD, 1), (NAU, 0), (NAU, 1), (NALU, 0), (LSTM, 0)]
    )
    solved = {"model_simplification": "solved-accumulator", "nac_mul": "none"}
    assert_all(key, reference=True, seeds=range(10), **SUM, **lengths, **solved)


def test_training_lengths_and_outputs():
    key = "sequential_mnist_prod_interpolation"
    assert_all(key, seeds=range(5), extrapolation_lengths=TO_9, **PRODUCT)
    assert units(key) == sorted(FIVE * 4)
    assert {c.interpolation_length for _, c in configs(key)} == {2, 3, 4, 5}
    key = "sequential_mnist_prod_outputs"
    assert_all(key, seeds=range(5), extrapolation_lengths=TO_9, interpolation_length=2, **PRODUCT)
    assert units(key) == sorted([*FIVE, (NAC_NMU, 1)] * 6)
    assert {c.mnist_outputs for _, c in configs(key)} == set(range(1, 7))


def test_house_numbers():
    key = "sequential_svhn_prod_long"
    lengths = {"interpolation_length": 2, "extrapolation_lengths": TO_20, "svhn_digits": TO_9}
    assert_all(key, seeds=range(5), operation="cumprod", svhn_outputs=1, **lengths)
    published = [(NAC_MUL, 0), (NAC_SIGMA, 0), (NALU, 0), (NMU, 1), (NAC_NMU, 1)]
    nets = ("resnet18", "resnet34", "resnet50")
    found = {((c.layer_type, c.nac_mul), int(c.regualizer_z), c.resnet) for _, c in configs(key)}
    assert found >= {(unit, z, net) for (unit, z), net in product(published, nets)}
    solved = {"model_simplification": "solved-accumulator", "nac_mul": "mnac"}
    assert_all(key, reference=True, seeds=range(5), operation="cumprod", **lengths, **solved)
    assert {c.resnet for _, c in configs(key, reference=True)} == set(nets)


def test_noise():
    key = "robust-sequential_mnist_prod_long"
    lengths = {"interpolation_length": 2, "extrapolation_lengths": TO_20, "dataset_workers": 5}
    unit = {"layer_type": "ReRegualizedLinearNAC", "nac_mul": "mnac"}
    common = {**PRODUCT, **lengths, **unit}
    assert_all(key, seeds=range(10), verbose=True, mnist_outputs=1, regualizer_z=1, **common)
    noises = [(m.prefix.rpartition("/")[2], c.nmu_noise, c.noise_range) for m, c in configs(key)]
    assert noises == [
        ("nmu", False, [1, 5]), ("snmu", True, [1, 5]), ("batch-snmu", True, [1, 0]),
    ]  # fmt: skip
    solved = {"model_simplification": "solved-accumulator", "verbose": False, "regualizer_z": 0}
    assert_all(key, reference=True, seeds=range(10), **common, **solved)


@pytest.mark.parametrize(
    ("script", "seeds", "runs"),
    [
        ("icml_2022/sequential_mnist_prod_long", "0 1", 6),
        pytest.param(
            "icml_2022/sequential_mnist_prod_reference", "0 9", 10, marks=pytest.mark.slow
        ),
        pytest.param("sequential_svhn_prod_reference", "0 0", 3, marks=pytest.mark.slow),
    ],
)
def test_dry_runs_print_commands_of_these_runs(script, seeds, runs, tmp_path, monkeypatch, capsys):
    """What the scripts would start, with checkpoints every few epochs."""
    monkeypatch.setenv("TENSORBOARD_DIR", str(tmp_path))
    assert batch.main([script, *seeds.split(), "--dry-run"]) == 0
    printed = capsys.readouterr().out.splitlines()
    commands = [shlex.split(line) for line in printed if "experiments/" in line]
    assert len(commands) == runs
    for command in commands:
        spec = SCRIPTS[Path(command[1]).stem]
        (config,) = spec.plan(command[2:]).configs
        assert config.operation == "cumprod"
        assert config.resume
        assert config.checkpoint_interval == 20
