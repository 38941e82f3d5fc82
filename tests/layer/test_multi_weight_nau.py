"""MultiWeightNAU: which weight is used, trained, clamped and penalised."""

import pytest
import torch

from stable_nalu.abstract import stack_models
from stable_nalu.layer import MultiWeightNAULayer, NAULayer

X = torch.tensor([[1.5, -2.0], [0.5, 3.0]])


def build(seed=0, **options):
    torch.manual_seed(seed)
    return MultiWeightNAULayer(2, 1, **options)


def test_draws_the_weights_in_order_as_the_nau_does():
    torch.manual_seed(0)
    layer = MultiWeightNAULayer(30, 20, W_set_count=3)
    torch.manual_seed(0)
    for W in layer.weight_set():
        assert torch.equal(W.data, NAULayer(30, 20).W.data)
    assert [n for n, _ in layer.named_parameters()] == ["W_0", "W_1", "W_2"]
    assert len(build().weight_set()) == 5


@pytest.mark.parametrize("oob", ["clip", "regualized"])
@pytest.mark.parametrize(("iteration", "active"), [(0, 0), (2, 2), (3, 0), (7, 1)])
def test_the_iteration_selects_the_clamped_weight(iteration, active, oob):
    layer = build(W_set_count=3, nac_oob=oob)
    with torch.no_grad():
        layer.W_1[0, 0] = 1.75
    layer.iteration = iteration
    W = [min(max(w, -1.0), 1.0) for w in layer.get_parameter(f"W_{active}")[0].tolist()]
    expected = [sum(w * v for w, v in zip(W, row, strict=True)) for row in X.tolist()]
    assert layer(X).flatten().tolist() == pytest.approx(expected, rel=1e-6)


def test_it_asks_the_trainer_for_the_iteration():
    assert MultiWeightNAULayer.reads_iteration
    assert build().iteration == 0


def test_only_the_active_weight_gets_a_gradient():
    layer = build(W_set_count=3)
    layer.iteration = 1
    gradients = torch.autograd.grad(
        layer(X).sum(), [layer.W_0, layer.W_1, layer.W_2], allow_unused=True
    )
    assert [g is None for g in gradients] == [True, False, True]


def test_only_the_active_weight_is_clamped():
    layer = build(W_set_count=2, nac_oob="clip")
    with torch.no_grad():
        for W in layer.weight_set():
            W.copy_(torch.tensor([[1.5, -3.0]]))
    layer.iteration = 3
    layer.optimize(torch.tensor(0.0))
    assert layer.W_0.tolist() == [[1.5, -3.0]]
    assert layer.W_1.tolist() == [[1.0, -1.0]]
    assert build(nac_oob="regualized").parameter_bounds() == {}


def test_penalties_are_those_of_the_active_raw_weight():
    layer = build(W_set_count=2, regualizer_shape="linear", regualizer_z=1)
    with torch.no_grad():
        layer.W_0.copy_(torch.tensor([[0.25, 0.5]]))
        layer.W_1.copy_(torch.tensor([[1.5, -0.25]]))
    layer.iteration = 1
    layer(X)
    values = {k: v.item() for k, v in layer.regualizer().items()}
    # Means over two elements; the mean input is (1, 0.5).
    assert values == {
        "W": (0.5 + 0.25) / 2,
        "z": ((1 - 1.5) * 1.0 + (1 - 0.25) * 0.25) / 2,
        "W-OOB": 0.5 / 2,
        "W-set": (2 * 0.625**2 + 2 * 0.375**2) / 4,
    }
    layer.optimize(torch.tensor(0.0))
    assert layer.regualizer()["z"].item() == 0


def test_noise_leaves_the_value_and_draws_once():
    layer, plain = build(nau_noise=True), build()
    torch.manual_seed(4)
    y = layer(X)
    state = torch.get_rng_state()
    torch.manual_seed(4)
    torch.empty(2, 2).uniform_(-1, 1)
    assert torch.equal(state, torch.get_rng_state())
    torch.testing.assert_close(y, plain(X), rtol=1e-5, atol=1e-6)
    layer.eval()
    assert torch.equal(layer(X), plain(X))


def test_penalties_of_stacked_runs_are_those_of_single_ones():
    singles = [build(seed, W_set_count=3) for seed in range(2)]
    expected = [{k: v.item() for k, v in s.regualizer().items()} for s in singles]
    stacked = stack_models(singles)
    for key, value in stacked.regualizer().items():
        assert value.tolist() == pytest.approx([e[key] for e in expected], rel=1e-6)


def test_logs_the_raw_active_weight():
    layer = build(W_set_count=2)
    with torch.no_grad():
        layer.W_1.copy_(torch.tensor([[1.5, -0.25]]))
    layer.iteration = 1
    layer.robustness_logging = True
    histogram, text, error = layer.observations()
    assert histogram.value().tolist() == [[1.5, -0.25]]
    assert (text.verbose_only, error.verbose_only, error.value().item()) == (True, False, 0.5)
