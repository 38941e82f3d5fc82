"""Modules and their children, and draws of one run from torch's generator, or of each of many."""

import pytest
import torch

from stable_nalu.abstract import (
    GLOBAL_RANDOM,
    ExtendedTorchModule,
    PerRunRandomSource,
    extended_children,
)
from tests.layer_values import drawn_alike, uniform


class Leaf(ExtendedTorchModule):
    """One weight, one constant, one penalty; counts what is asked of it."""

    is_as_published = False

    def __init__(self, *, bounded=False, penalty=True):
        super().__init__("leaf")
        self.W = torch.nn.Parameter(torch.empty(2, 2))
        self.tau = torch.nn.Parameter(torch.ones(()), requires_grad=False)
        self.bounded, self.penalty = bounded, penalty
        self.resets = self.terms_computed = 0
        self.losses = []

    def reset_parameters(self):
        self.resets += 1
        torch.nn.init.uniform_(self.W, -1, 1)

    def regualizer_terms(self):
        return {"W": self._penalty if self.penalty else None}

    def _penalty(self):
        self.terms_computed += 1
        return self.W.abs().sum()

    def parameter_bounds(self):
        return {"W": (-0.5, 0.5)} if self.bounded else {}

    def after_step(self, loss):
        self.losses.append(loss)


class Tree(ExtendedTorchModule):
    """Leaves as a child, in a list and in a sequence of sequences."""

    is_as_published = False

    def __init__(self):
        super().__init__("tree", name="named")
        self.first = Leaf(bounded=True)
        self.many = torch.nn.ModuleList([Leaf(), torch.nn.Linear(2, 2)])
        self.nested = torch.nn.Sequential(torch.nn.Sequential(Leaf(bounded=True)))
        self.resets = 0

    @property
    def leaves(self):
        return [self.first, self.many[0], self.nested[0][0]]

    def reset_parameters(self):
        self.resets += 1
        super().reset_parameters()


def test_only_the_outermost_module_starts_the_initialisation():
    assert Leaf().resets == 1
    assert [leaf.resets for leaf in torch.nn.Sequential(Leaf(), Leaf())] == [1, 1]
    tree = Tree()
    assert tree.resets == 1
    assert [leaf.resets for leaf in tree.leaves] == [1, 1, 1]


def test_children_draw_in_the_order_of_construction():
    """A plain layer draws when it is constructed, before anything is initialised."""
    tree, (_, *expected) = drawn_alike(
        Tree, lambda: (torch.nn.Linear(2, 2), *(uniform(-1, 1, 2, 2) for _ in range(3)))
    )
    for leaf, W in zip(tree.leaves, expected, strict=True):
        assert torch.equal(leaf.W, W)


def test_a_failed_construction_leaves_later_ones_intact():
    class Broken(ExtendedTorchModule):
        is_as_published = False

        def __init__(self):
            super().__init__("broken")
            self.child = Leaf()
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        Broken()
    assert Leaf().resets == 1


def test_children_through_plain_containers():
    tree = Tree()
    assert list(extended_children(tree)) == tree.leaves
    assert list(tree.extended_modules()) == [tree, *tree.leaves]
    assert (Leaf().namespace, tree.namespace) == ("leaf", "named")


def test_regualizer_sums_by_key_what_is_asked_for():
    tree = Tree()
    assert tree.regualizer({"z"}) == {}
    assert [leaf.terms_computed for leaf in tree.leaves] == [0, 0, 0]
    assert Leaf(penalty=False).regualizer() == {}
    expected = sum(leaf.W.abs().sum() for leaf in tree.leaves)
    total = tree.regualizer()
    assert set(total) == {"W"}
    torch.testing.assert_close(total["W"], expected)


def test_optimize_clamps_and_runs_the_hooks():
    tree, loss = Tree(), torch.tensor(2.0)
    for leaf in tree.leaves:
        leaf.W.data.fill_(3.0)
    tree.optimize(loss)
    assert [leaf.W.max().item() for leaf in tree.leaves] == [0.5, 3.0, 0.5]
    assert [leaf.losses for leaf in tree.leaves] == [[loss]] * 3


RUNS, SHAPE = 3, (5, 7)
OF_RUNS = torch.zeros(RUNS, *SHAPE)
DRAWS = {
    "uniform": (lambda s, x: s.uniform(SHAPE, 1.0, 5.0, like=x), lambda x: x.uniform_(1.0, 5.0)),
    "normal": (lambda s, x: s.normal(SHAPE, like=x), lambda x: x.normal_()),
    "exponential": (lambda s, x: s.exponential(SHAPE, like=x), lambda x: x.exponential_()),
}


def source():
    return PerRunRandomSource([torch.Generator().manual_seed(run) for run in range(RUNS)])


def alone(run, draw):
    """`draw(source)` of one run, from the global generator."""
    torch.manual_seed(run)
    return draw(GLOBAL_RANDOM)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_those_of_torch_for_one_run_and_for_many(name, dtype):
    draw, by_torch = DRAWS[name]
    like = OF_RUNS.to(dtype)
    before = torch.get_rng_state()
    together = draw(source(), like)
    assert torch.equal(torch.get_rng_state(), before)
    assert together.shape == (RUNS, *SHAPE)
    for run in range(RUNS):
        one = alone(run, lambda s: draw(s, like[0]))
        following = torch.rand(())
        torch.manual_seed(run)
        assert torch.equal(one, by_torch(torch.empty(SHAPE, dtype=dtype)))
        assert torch.equal(following, torch.rand(()))
        assert torch.equal(together[run], one)
        assert one.dtype == together.dtype == dtype


def test_bounds_may_be_tensors_and_of_each_run():
    torch.manual_seed(5)
    drawn = GLOBAL_RANDOM.uniform((100,), 1.0, torch.tensor(1.5), torch.zeros(()))
    assert 1.0 <= drawn.min() < 1.1
    assert 1.4 < drawn.max() <= 1.5
    low, high = torch.tensor([0.0, 1.0, -5.0]), torch.tensor([1.0, 3.0, 5.0])
    together = source().uniform(SHAPE, low, high, like=OF_RUNS)
    for run in range(RUNS):
        expected = alone(run, lambda s, k=run: s.uniform(SHAPE, low[k], high[k], like=OF_RUNS[0]))
        assert torch.equal(together[run], expected)


def test_categories_are_those_of_torch():
    probabilities = torch.softmax(torch.arange(RUNS * 12.0).reshape(RUNS, 4, 3) % 5, dim=-1)
    together = source().multinomial((4, 3), probabilities)
    assert together.shape == (RUNS, 4)
    for run in range(RUNS):
        expected = alone(run, lambda s, k=run: s.multinomial((4, 3), probabilities[k]))
        torch.manual_seed(run)
        assert torch.equal(expected, torch.multinomial(probabilities[run], 1).squeeze(-1))
        assert torch.equal(together[run], expected)
    never = torch.tensor([0.0, 1.0, 0.0]).expand(200, 3)
    assert GLOBAL_RANDOM.multinomial((200, 3), never).unique().tolist() == [1]
