"""Separately initialised models as one, and one of them cut out again."""

import pytest
import torch

from stable_nalu.abstract import run_state, stack_models
from stable_nalu.layer import GeneralizedLayer

RUNS = 3
X = torch.tensor([[1.5, 2.0], [0.5, 3.0]])


def models(unit, **options):
    built = []
    for seed in range(RUNS):
        torch.manual_seed(seed)
        built.append(GeneralizedLayer(2, 1, unit, **options))
    return built


@pytest.mark.parametrize("unit", ["NALU", "MCFC", "GradientBanditNAC", "GumbelNAC", "ReLU"])
def test_parameters_and_buffers_lead_with_the_runs(unit):
    singles = models(unit)
    states = [run_state(model.state_dict(), None) for model in singles]
    flags = [p.requires_grad for p in singles[0].parameters()]
    stacked = stack_models(singles)
    assert stacked is singles[0]
    assert [p.requires_grad for p in stacked.parameters()] == flags
    for name, value in stacked.state_dict().items():
        assert value.shape == (RUNS, *states[0][name].shape)
        for run, state in enumerate(states):
            assert torch.equal(value[run], state[name])


def test_one_run_can_be_cut_out_and_loaded():
    singles = models("NALU", nalu_two_nac=True)
    expected = [model(X).detach() for model in singles]
    stacked = stack_models(singles)
    for run, y in enumerate(expected):
        alone = GeneralizedLayer(2, 1, "NALU", nalu_two_nac=True)
        alone.load_state_dict(run_state(stacked.state_dict(), run))
        assert torch.equal(alone(X), y)


def test_what_is_cut_out_is_a_copy():
    stacked = stack_models(models("NAC"))
    state = run_state(stacked.state_dict(), 1)
    before = {name: value.clone() for name, value in state.items()}
    with torch.no_grad():
        for parameter in stacked.parameters():
            parameter.zero_()
    assert all(torch.equal(state[name], value) for name, value in before.items())
    assert not any(value.requires_grad for value in state.values())


def test_stacks_can_be_stacked():
    twice = stack_models([stack_models(models("NAC")), stack_models(models("NAC"))])
    assert twice.layer.W_hat.shape == (2, RUNS, 1, 2)
    assert twice(X.expand(2, RUNS, 2, 2)).shape == (2, RUNS, 2, 1)


def test_a_stack_trains():
    stacked = stack_models(models("NAC"))
    stacked(X.expand(RUNS, 2, 2)).sum().backward()
    assert all(p.is_leaf and p.grad is not None for p in stacked.parameters())
