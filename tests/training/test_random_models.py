"""Untrained networks: their errors by a plain loop, whatever is shared, and what is logged."""

import pytest
import torch

from stable_nalu.task.arithmetic import build_dataset
from stable_nalu.training.evaluation import EvaluationSet, RandomModels
from tests.ensemble.plans import assert_identical, train, trained
from tests.experiments.scripts import read, run, run_names
from tests.training.configurations import configurations

SCRIPT = "simple_function_static"
SMALL = ("--input-size", "10", "--subset-ratio", "0.2")
RULE = ("--extrapolation-rule", "exceed", "--extrapolation-range", "[1,3]")
WORDS = (*SMALL, *RULE, "--random-models", "3", "--layer-type", "NALU", "--log-interval", "2")


def build():
    return torch.nn.Sequential(torch.nn.Linear(10, 2), torch.nn.ReLU6(), torch.nn.Linear(2, 1))


def sets(*words):
    configs = configurations(SCRIPT, *SMALL, *words)
    datasets = [build_dataset(config) for config in configs]
    return [
        EvaluationSet([d.fork(r, seed=seed) for d in datasets], device=torch.device("cpu"))
        for r, seed in (([1, 2], 7), ([2, 6], 8))
    ]


def by_a_loop(x, t, count):
    """Mean squared error, mean of roots and mean absolute error of networks built under seed 1."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(1)
        errors = [build()(x) - t for _ in range(count)]
    squared = torch.stack([(error**2).mean() for error in errors])
    absolute = torch.stack([error.abs().mean() for error in errors])
    return [squared.mean(), squared.sqrt().mean(), absolute.mean()]


@pytest.mark.parametrize("seeds", ["4", "0-3"])
def test_baselines_are_means_over_networks(seeds):
    found = sets("--seed", seeds)
    rows = [one.rows_of_runs() for one in found]
    state = torch.get_rng_state()
    subject = RandomModels(build, 3, rows)
    assert torch.equal(state, torch.get_rng_state())
    runs = () if seeds == "4" else (4,)
    logged = dict(subject.logged(torch.zeros(2, 2, *runs)))
    for split, of_set in zip(("interpolation", "extrapolation"), rows, strict=True):
        for run_number, (x, t) in enumerate(of_set):
            for suffix, expected in zip(("", "/rmse", "/mae"), by_a_loop(x, t, 3), strict=True):
                value = logged[f"metric/random/{split}{suffix}"]
                assert value.shape == runs
                one = value if seeds == "4" else value[run_number]
                torch.testing.assert_close(one, expected)


def test_absolute_errors_are_those_of_the_model():
    (found, _) = sets("--seed", "4")
    ((x, t),) = found.rows_of_runs()
    model = torch.nn.Sequential(torch.nn.Linear(10, 1))
    with torch.no_grad():
        squared, absolute = RandomModels.measure(found.squares(model))
        torch.testing.assert_close(absolute, (model(x) - t).abs().mean())
        assert torch.equal(squared, found.squares(model).mean())


def test_what_a_run_logs_at_every_point():
    assert run(SCRIPT, *WORDS, "--max-iterations", "4") == 0
    (name,) = run_names(SCRIPT, *WORDS)
    assert name.endswith("_id-1_x-exceed_rm3")
    record = read(name)
    metrics = {tag for tag in record.tags if tag.startswith("metric/")}
    errors = ("metric/valid/interpolation", "metric/test/extrapolation")
    untrained = ("metric/random/interpolation", "metric/random/extrapolation")
    assert metrics == {
        *(error + suffix for error in errors for suffix in ("", "/mae")),
        *(error + suffix for error in untrained for suffix in ("", "/rmse", "/mae")),
    }
    assert all(list(record.series(tag)) == [0, 2, 4] for tag in metrics)


def test_no_number_of_a_run_moves():
    words = (*SMALL, "--layer-type", "NALU", "--log-interval", "2", "--max-iterations", "4")
    assert run(SCRIPT, *words) == 0
    assert run(SCRIPT, *words, "--random-models", "2") == 0
    plain, scored = (
        read(run_names(SCRIPT, *words, *more)[0]) for more in ((), ("--random-models", "2"))
    )
    assert plain.tags < scored.tags
    for key, values in plain.values.items():
        if not key[1].startswith("config"):
            assert scored.values[key] == values


@pytest.mark.parametrize("seeds", ["1", "0-2"])
def test_a_run_goes_on_bit_for_bit(seeds, tmp_path):
    words = (*WORDS, "--seed", seeds)
    assert train(tmp_path / "parts", SCRIPT, *words, "--max-iterations", "3") == 0
    again = ("--max-iterations", "6", "--load-checkpoint")
    assert train(tmp_path / "parts", SCRIPT, *words, *again) == 0
    assert train(tmp_path / "whole", SCRIPT, *words, "--max-iterations", "6") == 0
    assert_identical(trained(tmp_path / "parts"), trained(tmp_path / "whole"))
