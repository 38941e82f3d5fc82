"""The mystery arithmetic problem: what is drawn, from which random streams, and what it asks."""

import numpy as np
import pytest
import torch

from stable_nalu.task.mystery_arithmetic import OPERATIONS, MysteryProblem

SIGNED = ("add", "sub", "mul")


def problem(seed=0, inputs=100, outputs=10, operations=SIGNED):
    return MysteryProblem(inputs, outputs, operations, seed)


def test_operands_are_two_different_inputs_and_operations_those_asked_for():
    every = [output for seed in range(200) for output in problem(seed).outputs]
    assert len(every) == 2000
    assert all(o.i != o.j for o in every)
    assert {o.i for o in every} == {o.j for o in every} == set(range(100))
    shares = {name: sum(o.operation == name for o in every) / 2000 for name in OPERATIONS}
    assert shares.pop("div") == 0
    assert all(share == pytest.approx(1 / 3, abs=0.04) for share in shares.values())


def test_the_first_number_drawn_is_the_first_operand():
    """By NumPy's generator of (seed, stream 0): two different inputs, then an operation."""
    for seed in range(3):
        random = np.random.default_rng((seed, 0))
        for output in problem(seed).outputs:
            first, second = random.choice(100, 2, replace=False)
            assert output == (first, second, SIGNED[random.integers(3)])


def test_two_inputs_are_enough():
    found = {tuple(output) for output in problem(inputs=2, outputs=50, operations=("sub",)).outputs}
    assert found == {(0, 1, "sub"), (1, 0, "sub")}


def test_outputs_by_hand():
    asked = problem(inputs=3, outputs=4)
    asked.outputs = [
        asked.outputs[0]._replace(i=i, j=j, operation=name)
        for i, j, name in ((0, 1, "add"), (2, 0, "sub"), (1, 2, "mul"), (1, 0, "div"))
    ]
    x = np.array([[2.0, -3.0, 0.5], [4.0, 0.0, -1.0]])
    assert asked.solve(x).tolist() == [[-1, -1.5, -1.5, -1.5], [4, -5, 0, 0]]


def test_rows_are_uniform_on_their_range_and_solved():
    asked = problem(7)
    for draw, (low, high) in ((asked.training_rows, (-10, 10)), (asked.test_rows, (5, 50))):
        x, t = draw(low, high, 1000)
        assert x.shape == (1000, 100)
        assert t.shape == (1000, 10)
        assert low <= x.min() < x.max() < high
        assert x.mean().item() == pytest.approx((low + high) / 2, abs=(high - low) / 100)
        for k, (i, j, name) in enumerate(asked.outputs):
            assert torch.equal(t[:, k], OPERATIONS[name](x[:, i], x[:, j]))


def test_each_part_has_a_random_stream_of_its_own():
    one, same, other = problem(1), problem(1), problem(2)
    assert one.outputs == same.outputs != other.outputs
    test = one.test_rows(-10, 10, 50)[0]
    train = one.training_rows(-10, 10, 50)[0]
    assert not torch.equal(test, train)
    # What was drawn before, and how much, changes nothing.
    same.training_rows(-1, 1, 999)
    same.order(3, 20)
    assert torch.equal(same.test_rows(-10, 10, 50)[0], test)
    assert torch.equal(same.training_rows(-10, 10, 60)[0][:50], train)
    assert not torch.equal(other.training_rows(-10, 10, 50)[0], train)
    assert problem(1, operations=("div",)).training_rows(-10, 10, 50)[0].equal(train)


def test_orders_differ_between_epochs_and_follow_from_them():
    one, same = problem(5), problem(5)
    first, second = one.order(0, 1000), one.order(1, 1000)
    assert first.sort().values.tolist() == list(range(1000))
    assert not torch.equal(first, second)
    assert torch.equal(same.order(1, 1000), second)
