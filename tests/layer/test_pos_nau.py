"""PosNAU: formula, weight range, penalties."""

import pytest
import torch

from stable_nalu.layer import PosNAULayer, ReRegualizedLinearPosNACLayer

X = torch.tensor([[1.5, -2.0], [0.5, 3.0]])


def with_weights(values, **options):
    layer = PosNAULayer(len(values), 1, **options)
    layer.W.data = torch.tensor([values])
    return layer


def test_published_values():
    torch.manual_seed(0)
    layer = ReRegualizedLinearPosNACLayer(2, 1, nac_oob="clip", regualizer_shape="linear")
    layer.reset_parameters()
    W = torch.tensor([[0.294239, 0.316015]])
    torch.testing.assert_close(layer.W.data, W, rtol=5e-6, atol=0)
    y = torch.tensor([[-0.190672], [1.09517]])
    torch.testing.assert_close(layer(X).detach(), y, rtol=5e-6, atol=0)
    assert layer.regualizer().keys() == {"W"}
    assert layer.regualizer()["W"].item() == pytest.approx(0.305127, rel=5e-6)


@pytest.mark.parametrize(
    ("oob", "effective"), [("regualized", [0.1, 0.5, 1.0]), ("clip", [-0.3, 0.5, 1.7])]
)
def test_output_is_the_formula(oob, effective):
    layer = with_weights([-0.3, 0.5, 1.7], nac_oob=oob, mnac_epsilon=0.1)
    x = torch.tensor([[2.0, -3.0, 5.0], [-1.0, 0.0, 4.0]])
    expected = [sum(w * v for w, v in zip(effective, row, strict=True)) for row in x.tolist()]
    assert layer(x).flatten().tolist() == pytest.approx(expected, rel=1e-6)


def test_draws_one_uniform_fill_around_a_half():
    torch.manual_seed(2)
    layer = PosNAULayer(4, 3)
    torch.manual_seed(2)
    assert torch.equal(layer.W.data, torch.empty(3, 4).uniform_(0.25, 0.75))


def test_penalties_are_those_of_the_nmu_on_the_raw_weight():
    layer = with_weights([-0.3, 1.7], regualizer_z=1)
    layer(X)
    penalties = {key: value.item() for key, value in layer.regualizer().items()}
    assert penalties == pytest.approx(
        {
            "W": ((-0.3 * 1.3) ** 2 + (1.7 * -0.7) ** 2) / 2,
            "z": (1.3 * (1 - 1.0) ** 2 - 0.7 * (1 - 0.5) ** 2) / 2,
            "W-OOB": (0.3**2 + 0.7**2) / 2,
        },
        rel=1e-5,
    )


def test_clip_bounds_the_weight_after_a_step():
    layer = with_weights([-0.3, 1.7], nac_oob="clip", mnac_epsilon=0.25)
    layer.optimize(torch.tensor(0.0))
    assert layer.W.tolist() == [[0.25, 1.0]]
    untouched = with_weights([-0.5, 1.5], nac_oob="regualized")
    untouched.optimize(torch.tensor(0.0))
    assert untouched.W.tolist() == [[-0.5, 1.5]]


def test_text_and_sparsity_error_do_not_follow_robustness_logging():
    layer = PosNAULayer(2, 1)
    layer.robustness_logging = True
    assert [o.verbose_only for o in layer.observations()] == [True, True, False]
