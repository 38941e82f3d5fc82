"""How a plan is cut into stacks."""

from dataclasses import replace

from stable_nalu.task import SCRIPTS
from stable_nalu.training.runs import LANES, PlannedRun, stacks_of


def cut(script, *words, workers=1):
    spec = SCRIPTS[script]
    configs = spec.plan(words).configs
    runs = [replace(PlannedRun.of(spec, config), engine=LANES) for config in configs]
    return stacks_of(runs, workers)


def test_the_simple_task_has_four_inputs():
    """Whatever size is asked for, so its runs share stacks like others of four inputs."""
    words = ("--layer-type", "NALU", "--simple", "--seed", "0-99")
    (stack,) = cut("simple_function_static", *words)
    assert len(stack) == 100
    assert stack[0].config.input_size == 100
    assert stack[0].config.inputs == 4


def test_runs_of_a_seed_are_in_one_stack():
    """In the order of the plan, ranges before seeds."""
    ranges = ("--interpolation-range", "[1,2]", "[3,4]", "--extrapolation-range", *["[2,6]"] * 2)
    stacks = cut("single_layer", "--seed", "0-3", *ranges, workers=2)
    seeds = [[run.config.seed for run in stack] for stack in stacks]
    assert seeds == [[0, 1, 0, 1], [2, 3, 2, 3]]
