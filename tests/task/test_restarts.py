"""The restart rule against a direct list implementation."""

import numpy as np
import pytest
import torch

from stable_nalu.task.arithmetic import RestartRule
from tests.training.engine.harness import planned, training


class ListRule:
    """As published: one list of errors; older half against newer half."""

    def __init__(self, interval, max_stored, threshold):
        self.interval, self.max_stored, self.threshold = interval, max_stored, threshold
        self.losses = []

    def step(self, iteration, error):
        self.losses.append(np.float32(error))
        if iteration == 0 or iteration % self.interval or len(self.losses) <= self.max_stored:
            return False
        middle = len(self.losses) // 2
        older, newer = np.array(self.losses[:middle]), np.array(self.losses[middle:])
        if older.mean() <= newer.mean() + newer.std() and newer.mean() > self.threshold:
            self.losses = []
            return True
        return False


def errors(kind, iterations, log_interval, seed=0):
    """The last validation error at every iteration; it changes at log points."""
    rng = np.random.default_rng(seed)
    points = iterations // log_interval + 1
    shape = {
        "constant": np.full(points, 3.0),
        "falling": np.linspace(5, 0, points),
        "rising": np.linspace(0, 5, points),
        "noisy": 2 + rng.normal(size=points),
        "small": np.full(points, 0.5),
        "alternating": np.where(np.arange(points) % 2, 0.2, 4.0),
    }[kind]
    return np.repeat(shape.astype(np.float32), log_interval)[:iterations].astype(np.float64)


@pytest.mark.parametrize("kind", ["constant", "falling", "rising", "noisy", "small", "alternating"])
def test_restarts_when_the_list_does(kind):
    for interval, max_stored, log_interval in ((10, 50, 1), (10, 50, 7), (7, 51, 100), (1, 2, 7)):
        rule = RestartRule(1, max_stored, 1.0)
        reference = ListRule(interval, max_stored, 1.0)
        for iteration, error in enumerate(errors(kind, 400, log_interval)):
            rule.record(np.array([[error]]))
            due = [0] if reference.step(iteration, error) else []
            asked = iteration and iteration % interval == 0
            assert (rule.due() if asked else []) == due, (interval, log_interval, iteration)


@pytest.mark.parametrize("unit", ["SigmoidNAU", "ScaledSigmoidNAU", "ReRegualizedLinearNAC"])
def test_a_run_of_a_stack_restarts_as_it_does_alone(unit):
    """What `reset_parameters` leaves alone, such as a scale that the constructor draws, stays."""
    script, words = "single_layer_benchmark", ("--operation", "add", "--layer-type", unit)
    stack = training(script, planned(script, *words, "--reinit", "--seed", "0-1"))
    alone = training(script, planned(script, *words, "--reinit"), engine=False)
    second = {name: value[1].clone() for name, value in stack.model.state_dict().items()}
    torch.set_rng_state(stack.random.generators[0].get_state())
    before = {name: value.clone() for name, value in alone.model.state_dict().items()}
    alone.reset(0)
    stack.reset(0)
    state = stack.model.state_dict()
    changed = set()
    for name, value in alone.model.state_dict().items():
        assert torch.equal(state[name][0], value), name
        assert torch.equal(state[name][1], second[name]), name
        changed |= {name} if not torch.equal(value, before[name]) else set()
    assert changed
