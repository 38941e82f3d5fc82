"""Validation and test errors: fixed rows, shared between runs, without randomness."""

import pytest
import torch

from stable_nalu.network import SingleLayerNetwork
from stable_nalu.task.arithmetic import VALIDATION_SEED, build_dataset
from stable_nalu.training.evaluation import EvaluationSet, evaluate
from tests.engine.harness import planned, training
from tests.training.configurations import configurations

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


def test_rows_do_not_depend_on_the_seed_of_the_run():
    (model,) = networks(1)
    errors = [evaluation_set("--seed", seed).squares(model).mean().item() for seed in ("0", "7")]
    assert errors[0] == errors[1]


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

    for run, config in enumerate(configs):
        plain = training("single_layer", [config], engine=False)
        errors = evaluate(plain.model, plain.task.evaluation, eval_mode=True, measure=both)
        for of_all, alone in zip(found, errors, strict=True):
            torch.testing.assert_close(of_all[:, run], alone, rtol=1e-6, atol=0)


def test_evaluation_draws_no_random_numbers():
    (model,) = networks(1, unit="ReRegualizedLinearMNAC", nmu_noise=True, regualizer_z=1)
    before = torch.get_rng_state()
    evaluate(model, [evaluation_set()], eval_mode=True)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_model_trains_on_as_before():
    (model,) = networks(1, regualizer_z=1)
    evaluate(model, [evaluation_set()], eval_mode=True)
    assert all(module.training and module.allow_random for module in model.extended_modules())
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
    model(torch.ones(4, 2))
    assert model.regualizer({"z"})["z"].isfinite()


def test_inputs_of_an_evaluation_are_not_recorded_for_the_z_penalty():
    (model,) = networks(1, regualizer_z=1)
    x = torch.tensor([[1.0, 3.0]])
    model(x)
    expected = model.regualizer({"z"})["z"].item()
    evaluate(model, [evaluation_set()], eval_mode=True)
    assert model.regualizer({"z"})["z"].item() == expected
