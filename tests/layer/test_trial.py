"""What a trial of a stranger's layer finds before anything is trained."""

from __future__ import annotations

import pytest
import torch

from stable_nalu import Layer
from stable_nalu.layer.plain import plain_layer
from stable_nalu.layer.trial import obstacle


class Base(torch.nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.W = torch.nn.Parameter(torch.rand(out_features, in_features))

    def forward(self, x):
        return x @ self.W.T


class Branching(Base):
    def forward(self, x):
        return x @ self.W.T if self.W.sum().item() > 0 else -x @ self.W.T


class Sampling(Base):
    def forward(self, x):
        return torch.nn.functional.dropout(x, 0.5, self.training) @ self.W.T


class WrongShape(Base):
    def forward(self, x):
        return (x @ self.W.T).sum(0)


class NoTensor(Base):
    def forward(self, x):
        return None


class Raising(Base):
    def forward(self, x):
        raise RuntimeError("first line\nsecond line")


class Unbuilt(Base):
    def __init__(self, in_features, out_features, power=1):
        raise ValueError("power is odd.")


def of(module, **options):
    return obstacle(plain_layer(module), 4, 2, options)


def test_a_module_that_can_be_stacked_has_no_obstacle_and_draws_nothing():
    before = torch.get_rng_state()
    assert of(Base) is None
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize(("module", "says"), [(Branching, "item"), (Sampling, "random")])
def test_what_vmap_cannot_do_is_an_obstacle(module, says):
    found = of(module)
    assert found is not None
    assert says in found


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (
            WrongShape,
            r"WrongShape maps an input of shape \(3, 4\) to a tensor of shape \(2,\); "
            r"\(3, 2\) is expected",
        ),
        (NoTensor, "NoTensor maps an input .* to NoneType"),
        (Raising, r"Raising fails on an input of shape \(3, 4\): RuntimeError: first line$"),
        (Unbuilt, "Unbuilt cannot be built: ValueError: power is odd$"),
    ],
)
def test_what_does_not_work_is_refused(module, says):
    with pytest.raises(ValueError, match=says):
        of(module)


class Mixed(Layer):
    """A layer of the project's kind that forgets the run dimension."""

    def __init__(self, in_features, out_features, *, name=None):
        super().__init__(in_features, out_features, name=name)
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features))

    def reset_parameters(self):
        torch.nn.init.uniform_(self.W)

    def forward(self, x):
        mean = x.mean() if x.ndim == 2 else x.mean() * 2
        return x @ self.W.transpose(-1, -2) + mean


def test_a_layer_of_this_kind_that_gives_other_numbers_in_a_stack():
    assert obstacle(Mixed, 4, 2, {}) == "its outputs are others where runs are stacked"
