"""Many models of one structure are trained as torch trains each of them."""

import copy

import numpy as np
import pytest
import torch
from torch.nn.functional import mse_loss

import torchlanes

ROWS = torch.rand(24, 3, generator=torch.Generator().manual_seed(7))
TARGETS = ROWS[:, :1] * ROWS[:, 1:2]


class Net(torch.nn.Module):
    """Two layers and a buffer that training changes."""

    def __init__(self, seed: int):
        super().__init__()
        torch.manual_seed(seed)
        self.inner, self.outer = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
        self.register_buffer("mean", torch.zeros(()))

    def forward(self, x):
        hidden = torch.tanh(self.inner(x))
        self.mean = 0.9 * self.mean + 0.1 * hidden.detach().mean()
        return self.outer(hidden)


def trainer_of(seeds, optimizer):
    return torchlanes.Trainer([Net(seed) for seed in seeds], mse_loss, optimizer)


def adam(parameters):
    return torch.optim.Adam(parameters, lr=0.02)


def momentum(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.01)


def in_torch(model, optimizer, batches):
    optimizer = optimizer(list(model.parameters()))
    for x, y in batches:
        optimizer.zero_grad()
        mse_loss(model(x), y).backward()
        optimizer.step()
    return model.state_dict()


@pytest.mark.parametrize("optimizer", [adam, momentum], ids=["adam", "momentum"])
def test_models_become_those_of_torch(optimizer):
    """Batches are drawn by each model's seed; a further call goes on with all rows."""
    trainer = trainer_of([1, 2], optimizer)
    trainer.fit(ROWS, TARGETS, 5, batch=8, seeds=[3, 4])
    trainer.fit(ROWS, TARGETS, 5)
    for seed, of_rows, model in zip([1, 2], [3, 4], trainer.models, strict=True):
        rows = np.random.default_rng(of_rows).integers(len(ROWS), size=(5, 8))
        batches = [(ROWS[some], TARGETS[some]) for some in rows] + [(ROWS, TARGETS)] * 5
        torch.testing.assert_close(
            model.state_dict(), in_torch(Net(seed), optimizer, batches), rtol=1e-4, atol=1e-5
        )


def test_a_model_has_the_same_bits_alone_and_taken_further_elsewhere():
    many, alone, other = (trainer_of(seeds, adam) for seeds in (range(5), [3], [3]))
    for trainer, seeds in ((many, range(5)), (alone, [3])):
        trainer.fit(ROWS, TARGETS, 6, batch=8, seeds=seeds)
    other.fit(ROWS, TARGETS, 4, batch=8, seeds=[3])
    held = copy.deepcopy(other.state_dict())
    other = trainer_of([3], adam)
    other.load_state_dict(held)
    other.fit(ROWS, TARGETS, 2, batch=8)
    for trainer in (alone, other):
        for name, value in trainer.models[0].state_dict().items():
            assert torch.equal(value, many.models[3].state_dict()[name])
        assert torch.equal(trainer.losses[0], many.losses[3])


def test_what_differs_from_torch_is_refused():
    """The first step of such a momentum has no momentum before it, and is not dampened."""

    def dampened(parameters):
        return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, dampening=0.5)

    with pytest.raises(Exception, match="a step whose .* differs from torch's"):
        trainer_of([1], dampened).fit(ROWS, TARGETS, 1)


def test_explain_gives_the_code_or_the_line_in_the_way():
    text = torchlanes.explain(Net(1), ROWS, TARGETS, mse_loss, adam)
    assert "run_block" in text
    assert "at_inner_weight" in text

    class Deciding(Net):
        def forward(self, x):
            return super().forward(x) if x.sum() > 0 else x[:, :1]

    said = torchlanes.explain(Deciding(1), ROWS, TARGETS, mse_loss, adam)
    assert said.startswith("not recorded: ")
    assert "x.sum() > 0" in said


@pytest.mark.parametrize("rows", [ROWS[:, 0], ROWS[None], ROWS[:9]], ids=["flat", "few", "short"])
def test_rows_that_do_not_fit_are_refused(rows):
    with pytest.raises(ValueError, match="no rows of each model"):
        trainer_of([1, 2], adam).fit(rows, TARGETS, 1)


def test_seeds_that_are_too_few_are_refused():
    with pytest.raises(ValueError, match="1 seeds for 2 models"):
        trainer_of([1, 2], adam).fit(ROWS, TARGETS, 1, batch=8, seeds=[3])


def test_a_model_is_trained_in_its_own_mode():
    """One that computes something else in evaluation, and has a layer whose weights stay."""

    class Halved(Net):
        def forward(self, x):
            return super().forward(x) * (1.0 if self.training else 0.5)

    def evaluated():
        model = Halved(5).eval()
        model.inner.requires_grad_(False)
        return model

    trainer = torchlanes.Trainer([evaluated()], mse_loss, momentum)
    trainer.fit(ROWS, TARGETS, 3)
    wanted = in_torch(evaluated(), momentum, [(ROWS, TARGETS)] * 3)
    torch.testing.assert_close(trainer.models[0].state_dict(), wanted, rtol=1e-4, atol=1e-5)
