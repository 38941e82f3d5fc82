"""Gradient clipping: that of torch, each run by itself."""

import pytest
import torch

from stable_nalu.training.step import clip_norm, clip_value

SHAPES = ((3, 2), (2,), ())
RUNS = 4
LIMITS = [0.5, 1.0, 3.0, 100.0]


def gradients(dtype=torch.float32, runs=()):
    generator = torch.Generator().manual_seed(3)
    return [torch.randn((*runs, *s), generator=generator, dtype=dtype) * 3 for s in SHAPES]


def by_torch(drawn, clip):
    """The gradients after `clip(parameters)`, a function of torch.nn.utils."""
    params = [None if g is None else torch.nn.Parameter(torch.zeros_like(g)) for g in drawn]
    for parameter, gradient in zip(params, drawn, strict=True):
        if parameter is not None:
            parameter.grad = gradient.clone()
    clip([p for p in params if p is not None])
    return [None if p is None else p.grad for p in params]


def assert_equal(actual, expected):
    for own, theirs in zip(actual, expected, strict=True):
        assert (own is None) == (theirs is None)
        assert own is None or torch.equal(own, theirs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("limit", [0.1, 1.0, 1000.0])
def test_norm(dtype, limit):
    drawn = gradients(dtype)
    expected = by_torch(drawn, lambda p: torch.nn.utils.clip_grad_norm_(p, limit))
    assert_equal(clip_norm(drawn, limit, 0), expected)


def test_norm_passes_over_missing_gradients():
    drawn = [None, *gradients()]
    expected = by_torch(drawn, lambda p: torch.nn.utils.clip_grad_norm_(p, 1.0))
    assert_equal(clip_norm(drawn, 1.0, 0), expected)


@pytest.mark.parametrize("limit", [0.1, 1000.0])
def test_value(limit):
    drawn = [None, *gradients()]
    expected = by_torch(drawn, lambda p: torch.nn.utils.clip_grad_value_(p, limit))
    assert_equal(clip_value(drawn, limit, 0), expected)


@pytest.mark.parametrize("clip", [clip_norm, clip_value])
def test_runs_have_their_own_limits(clip):
    together = gradients(runs=(RUNS,))
    clipped = clip(together, torch.tensor(LIMITS), 1)
    for run, limit in enumerate(LIMITS):
        expected = clip([g[run] for g in together], limit, 0)
        for own, alone in zip(clipped, expected, strict=True):
            torch.testing.assert_close(own[run], alone, rtol=1e-6, atol=0)


@pytest.mark.parametrize("clip", [clip_norm, clip_value])
def test_a_large_gradient_of_one_run_does_not_reach_the_others(clip):
    together = gradients(runs=(RUNS,))
    before = clip(together, 1.0, 1)
    for gradient in together:
        gradient[2] = float("nan")
    after = clip(together, 1.0, 1)
    for old, new in zip(before, after, strict=True):
        keep = [0, 1, 3]
        assert torch.equal(old[keep], new[keep])
