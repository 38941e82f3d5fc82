"""Validation and test errors on fixed rows, and those of untrained networks by a plain loop."""

import pytest
import torch

from stable_nalu.network import SingleLayerNetwork
from stable_nalu.task.arithmetic import VALIDATION_SEED, build_dataset
from stable_nalu.training.recorder import EvaluationSet, RandomModels, evaluate
from tests.experiments.scripts import read, run, run_names
from tests.training.configurations import configurations
from tests.training.engine.harness import planned, training

CPU = torch.device("cpu")
RANGES = ("--interpolation-range", "[1,2]", "[-2,2]")


def streams(*words, seed=VALIDATION_SEED):
    configs = configurations("single_layer", *words)
    return [build_dataset(c).fork(c.interpolation_range, seed=seed) for c in configs]


def evaluation_set(*words):
    return EvaluationSet(streams(*words), device=CPU)


def networks(count, unit="ReRegualizedLinearMNAC", size=2, **options):
    built = []
    for seed in range(count):
        torch.manual_seed(seed)
        built.append(SingleLayerNetwork(unit, size, **options))
    return built


def test_error_is_the_mean_square_over_ten_thousand_fixed_rows():
    (stream,) = streams()
    x, t = stream[0:10_000]
    (model,) = networks(1)
    with torch.no_grad():
        expected = torch.nn.functional.mse_loss(model(x), t)
    (error,) = evaluate(model, [evaluation_set()], eval_mode=True)
    assert error.shape == ()
    assert torch.equal(error, expected)


@pytest.mark.parametrize("unit", ["ReRegualizedLinearMNAC", "NRU", "NALU"])
@pytest.mark.parametrize(
    "words",
    [(*RANGES,), ("--input-size", "20", "--subset-ratio", "0.25")],
    ids=["ranges", "slices"],
)
def test_the_engine_has_the_errors_of_torch(unit, words):
    configs = planned("single_layer", *words, "--layer-type", unit, "--seed", "0-2")
    made = training("single_layer", configs)
    found = [rows.errors(made.engine, roots=True) for rows in made.task.evaluation]
    squared = [rows.errors(made.engine, roots=False) for rows in made.task.evaluation]
    assert all(torch.equal(both[:1], one) for both, one in zip(found, squared, strict=True))

    def both(squares: torch.Tensor) -> torch.Tensor:
        return torch.stack([squares.mean(), squares.sqrt().mean()])

    for k, config in enumerate(configs):
        plain = training("single_layer", [config], engine=False)
        errors = evaluate(plain.model, plain.task.evaluation, eval_mode=True, measure=both)
        for of_all, alone in zip(found, errors, strict=True):
            torch.testing.assert_close(of_all[:, k], alone, rtol=1e-6, atol=0)


SCRIPT = "simple_function_static"
SMALL = ("--input-size", "10", "--subset-ratio", "0.2")


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
