"""Networks of two digits: sizes, draws, starts, last layers, and thin-plate splines in float64."""

import math

import pytest
import torch

from stable_nalu.network.two_digits import (
    READERS,
    HalvesReader,
    TwoDigitNetwork,
    build_answer,
    build_reader,
    spline_system,
    square_grid,
    two_weights,
    warp_matrix,
)

POINTS = square_grid(0.9, 4)
PIXELS = square_grid(1, 42)
WARP = warp_matrix(PIXELS, POINTS)


def test_published_numbers_of_the_system():
    matrix = spline_system(POINTS)
    inverse = torch.linalg.inv(matrix)
    assert inverse[0, :4].tolist() == pytest.approx([1.3229, -1.1704, 0.2123, -0.0580], abs=6e-5)
    assert inverse[16, :4].tolist() == pytest.approx([-0.4978, 0.2891, 0.2891, -0.4978], abs=6e-5)
    assert torch.linalg.cond(matrix).item() == pytest.approx(141, abs=0.5)
    assert torch.equal(matrix, matrix.T)


def test_one_moved_point():
    sources = torch.zeros(16, 2, dtype=torch.float64)
    sources[5] = torch.tensor([0.1, 0.2])
    warped = (WARP @ sources).view(42, 42, 2)
    for row, column, x, y in (
        (0, 0, -0.0097, -0.0194),
        (21, 21, 0.0279, 0.0557),
        (41, 41, 0.0018, 0.0035),
    ):
        assert warped[row, column].tolist() == pytest.approx([x, y], abs=6e-5)


def test_identity_and_affine_maps_are_reproduced():
    torch.testing.assert_close(WARP @ POINTS, PIXELS, atol=1e-12, rtol=0)
    matrix = torch.tensor([[0.8, -0.3], [0.2, 1.1]]).double()
    shift = torch.tensor([0.1, -0.4]).double()
    warped = WARP @ (POINTS @ matrix.T + shift)
    torch.testing.assert_close(warped, PIXELS @ matrix.T + shift, atol=1e-12, rtol=0)
    single = WARP.float() @ (POINTS @ matrix.T + shift).float()
    torch.testing.assert_close(single.double(), PIXELS @ matrix.T + shift, atol=1e-6, rtol=0)


OPTIONS = {"nmu_noise": False, "nau_noise": False, "beta_nau": False, "noise_range": [1, 5]}
READER_SIZES = {
    "concat": 424328,
    "no-concat-linear": 247928,
    "no-concat-conv": 587830,
    "concat-conv": 589696,
    "no-concat-indep-conv": 1132640,
    "width-no-concat-conv": 1363758,
    "TPS-no-concat-conv": 589546,
}
ANSWER_SIZES = {
    **{("mul", False, False): 0, ("mul", True, False): 2, ("mul", True, True): 2},
    **{("add", True, False): 2, ("add", True, True): 2},
    **{("div", False, False): 0, ("div", True, False): 66817},
}


def size(module):
    return sum(p.numel() for p in module.parameters())


def answer(operation="mul", learned=True, unit=True, divider="", **options):
    return build_answer(
        operation, learned=learned, unit=unit, divider=divider, **(OPTIONS | options)
    )


def network(reader=lambda: HalvesReader(10), digits=range(10), argmax=False, **options):
    kind = {k: options.pop(k) for k in ("identity_start",) if k in options}
    return TwoDigitNetwork(reader, lambda: answer(**options), digits, argmax=argmax, **kind)


def test_published_sizes():
    assert {name: size(build_reader(name)) for name in READERS} == READER_SIZES
    assert size(HalvesReader(10)) == 1199882
    for (operation, learned, unit), expected in ANSWER_SIZES.items():
        assert size(answer(operation, learned, unit)) == expected
    for divider, expected in (("realnpu-mod", 4), ("nru", 2), ("nmru-sign", 4)):
        assert size(answer("div", divider=divider)) == expected


@pytest.mark.parametrize("name", ["concat", "TPS-no-concat-conv"])
def test_localisers_do_not_start_at_the_identity_unless_asked(name):
    bound = 1 / math.sqrt(32)
    for transform in network(lambda: build_reader(name)).reader.transforms:
        assert all(0 < p.abs().max() <= bound for p in transform.last.parameters())
        assert not torch.allclose(transform.last.bias, transform.identity().float())
    for transform in network(lambda: build_reader(name), identity_start=True).reader.transforms:
        assert transform.last.weight.abs().max() == 0
        torch.testing.assert_close(transform.last.bias, transform.identity().float())


def test_last_layers():
    digits = torch.tensor([[6.0, 3.0], [2.0, 4.0]])
    for operation, expected in (("add", [9, 6]), ("mul", [18, 8]), ("div", [2, 0.5])):
        plain = answer(operation, learned=False, unit=False)
        assert plain(digits).flatten().tolist() == expected
        assert two_weights(plain) is None
    scaled = answer("mul", unit=False)
    scaled.weight.data = torch.tensor([[2.0, 0.5]])
    assert scaled(digits).flatten().tolist() == [18, 8]
    assert two_weights(scaled).tolist() == [2, 0.5]
    assert two_weights(answer("mul")).shape == (2,)
    assert two_weights(answer("div", unit=False)) is None
    assert two_weights(answer("div", divider="nmru-sign")) is None
