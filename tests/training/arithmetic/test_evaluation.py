"""Validation and test errors: fixed rows, shared between runs, in chunks, without randomness."""

import pytest
import torch

from stable_nalu.ensemble import PerRunRandomSource, stack_models
from stable_nalu.network import SingleLayerNetwork
from stable_nalu.training.arithmetic import data
from stable_nalu.training.arithmetic.data import EvaluationSet, evaluate
from stable_nalu.training.arithmetic.task import build_dataset
from tests.training.configurations import configurations

CPU = torch.device("cpu")
RANGES = ("--interpolation-range", "[1,2]", "[-2,2]")


def streams(*words, seed=data.VALIDATION_SEED):
    configs = configurations("single_layer", *words)
    return [build_dataset(c).fork(c.interpolation_range, seed=seed) for c in configs]


def evaluation_set(*words, stacked):
    return EvaluationSet(streams(*words), stacked=stacked, device=CPU)


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
    (error,) = evaluate(model, [evaluation_set(stacked=False)], eval_mode=True)
    assert error.shape == ()
    assert torch.equal(error, expected)


def test_rows_do_not_depend_on_the_seed_of_the_run():
    (model,) = networks(1)
    errors = [
        evaluation_set("--seed", seed, stacked=False).errors(model).item() for seed in ("0", "7")
    ]
    assert errors[0] == errors[1]


@pytest.mark.parametrize(
    ("words", "inputs", "targets"),
    [
        (("--seed", "0-4"), 1, 1),
        (("--seed", "0-4", *RANGES), 2, 2),
        (("--seed", "0-4", "--input-size", "100", "--subset-ratio", "0.1"), 1, 5),
    ],
)
def test_runs_with_equal_rows_share_them(words, inputs, targets):
    rows = evaluation_set(*words, stacked=True)
    assert rows._x.shape[0] == inputs
    assert rows._t.shape[0] == targets


def stacked_and_single(words, **options):
    single = [EvaluationSet([s], stacked=False, device=CPU) for s in streams(*words)]
    models = networks(len(single), **options)
    (size,) = {rows._x.shape[-1] for rows in single}
    assert models[0].input_size == size
    alone = [evaluate(m, [r], eval_mode=True)[0] for r, m in zip(single, models, strict=True)]
    alone = torch.stack(alone)
    return evaluation_set(*words, stacked=True), stack_models(models), alone


@pytest.mark.parametrize(
    ("unit", "chunk"),
    [
        ("ReRegualizedLinearMNAC", 1 << 18),
        ("ReRegualizedLinearMNAC", 1 << 14),
        ("ReRegualizedLinearNAC", 1 << 14),
        ("NRU", 1 << 14),
        ("NALU", 7 * 20),
    ],
)
def test_stacked_runs_in_chunks_have_the_errors_of_single_runs(monkeypatch, unit, chunk):
    monkeypatch.setattr(data, "CHUNK_ELEMENTS", chunk)
    rows, model, alone = stacked_and_single(("--seed", "0-4", *RANGES), unit=unit)
    (errors,) = evaluate(model, [rows], eval_mode=True)
    torch.testing.assert_close(errors, alone, rtol=1e-6, atol=0)


def test_runs_with_their_own_slices(monkeypatch):
    monkeypatch.setattr(data, "CHUNK_ELEMENTS", 1 << 14)
    words = ("--seed", "0-2", "--input-size", "20", "--subset-ratio", "0.25")
    rows, model, alone = stacked_and_single(words, size=20)
    (errors,) = evaluate(model, [rows], eval_mode=True)
    torch.testing.assert_close(errors, alone, rtol=1e-6, atol=0)
    assert len(set(errors.tolist())) == 3


def test_a_layer_that_samples_in_evaluation_sees_all_rows_at_once(monkeypatch):
    monkeypatch.setattr(data, "CHUNK_ELEMENTS", 100)
    rows = evaluation_set("--seed", "0-1", stacked=True)
    model = stack_models(networks(2, unit="HardSoftmaxNAC"))
    assert rows._chunk(model) == 10_000
    assert rows._chunk(stack_models(networks(2))) == 25


@pytest.mark.parametrize(
    "unit",
    ["ReRegualizedLinearMNAC", "NMRU", "RegualizedLinearMNAC", "SillyReRegualizedLinearMNAC"],
)
def test_a_layer_that_is_scaled_by_its_rows_sees_all_at_once(monkeypatch, unit):
    monkeypatch.setattr(data, "CHUNK_ELEMENTS", 1 << 14)
    words = ("--seed", "0-1", *RANGES)
    rows, model, alone = stacked_and_single(words, unit=unit, mnac_normalized=True)
    assert rows._chunk(model) == 10_000
    (errors,) = evaluate(model, [rows], eval_mode=True)
    torch.testing.assert_close(errors, alone, rtol=1e-6, atol=0)


def test_evaluation_draws_no_random_numbers():
    (model,) = networks(1, unit="ReRegualizedLinearMNAC", nmu_noise=True, regualizer_z=1)
    before = torch.get_rng_state()
    evaluate(model, [evaluation_set(stacked=False)], eval_mode=True)
    assert torch.equal(torch.get_rng_state(), before)


def test_stacked_noise_stays_off_too():
    model = stack_models(networks(2, nmu_noise=True))
    generators = [torch.Generator().manual_seed(run) for run in range(2)]
    before = [g.get_state() for g in generators]
    for module in model.extended_modules():
        module.random = PerRunRandomSource(generators)
    evaluate(model, [evaluation_set("--seed", "0-1", stacked=True)], eval_mode=True)
    assert all(torch.equal(g.get_state(), b) for g, b in zip(generators, before, strict=True))


def test_the_model_trains_on_as_before():
    (model,) = networks(1, regualizer_z=1)
    for module in model.extended_modules():
        module.trace = {"kept": torch.zeros(())}
    evaluate(model, [evaluation_set(stacked=False)], eval_mode=True)
    assert all(module.training and module.allow_random for module in model.extended_modules())
    assert all(set(module.trace) == {"kept"} for module in model.extended_modules())
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
    model(torch.ones(4, 2))
    assert model.regualizer({"z"})["z"].isfinite()


def test_inputs_of_an_evaluation_are_not_recorded_for_the_z_penalty():
    (model,) = networks(1, regualizer_z=1)
    x = torch.tensor([[1.0, 3.0]])
    model(x)
    expected = model.regualizer({"z"})["z"].item()
    evaluate(model, [evaluation_set(stacked=False)], eval_mode=True)
    assert model.regualizer({"z"})["z"].item() == expected


@pytest.mark.parametrize(("eval_mode", "equal"), [(True, False), (False, True)])
def test_the_curriculum_evaluates_in_training_mode(eval_mode, equal):
    # The NRU has another formula in training.
    (model,) = networks(1, unit="NRU")
    rows = evaluation_set("--interpolation-range", "[-2,2]", stacked=False)
    with torch.no_grad():
        in_training = rows.errors(model)
    (error,) = evaluate(model, [rows], eval_mode=eval_mode)
    assert torch.equal(error, in_training) == equal
