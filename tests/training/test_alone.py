"""A run leaves the same behind, alone and in any plan, or resumed."""

import pytest

from tests.ensemble.plans import assert_identical, train, trained

NMU = ("--operation", "mul", "--layer-type", "ReRegualizedLinearNAC", "--nac-mul", "mnac")
NOISY = ("--operation", "mul", "--layer-type", "ReRegualizedLinearMNAC", "--nmu-noise")
LENGTH = ("--max-iterations", "120", "--log-interval", "40")
RAMP = ("--regualizer-scaling-start", "20", "--regualizer-scaling-end", "80")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("simple_function_static", (*NMU, *RAMP)),
        ("single_layer", ("--operation", "div", "--layer-type", "SignNMRU", *RAMP)),
        ("single_layer_benchmark", ("--operation", "mul", "--layer-type", "ReLU", "--mlp-bias")),
        ("single_layer", (*NOISY, *RAMP)),
        ("single_layer_benchmark", ("--operation", "add", "--layer-type", "iNALU", "--reinit")),
        ("single_layer_curriculum", ("--operation", "mul", "--layer-type", "NAC")),
        ("single_layer_robust", ("--operation", "mul", "--layer-type", "NALU", "--verbose")),
    ],
    ids=lambda value: value if isinstance(value, str) else "_".join(value[3:]),
)
def test_every_file_is_that_of_the_run_alone(script, words, tmp_path):
    assert train(tmp_path / "plan", script, *LENGTH, *words, "--seed", "2-4") == 0
    assert train(tmp_path / "alone", script, *LENGTH, *words, "--seed", "3") == 0
    alone, plan = trained(tmp_path / "alone"), trained(tmp_path / "plan")
    (name,) = alone
    assert_identical(alone, {name: plan[name]})


@pytest.mark.parametrize("words", [(*NOISY, *RAMP), (*NMU, *RAMP)], ids=["sNMU", "NMU"])
def test_it_goes_on_in_another_stack(words, tmp_path):
    half = ("--max-iterations", "60", "--log-interval", "40")
    for seed in "34":
        assert train(tmp_path / "parts", "single_layer", *half, *words, "--seed", seed) == 0
    whole = (*LENGTH, *words, "--seed", "3-4")
    assert train(tmp_path / "parts", "single_layer", *whole, "--resume") == 0
    assert train(tmp_path / "whole", "single_layer", *whole) == 0
    assert_identical(trained(tmp_path / "parts"), trained(tmp_path / "whole"))
