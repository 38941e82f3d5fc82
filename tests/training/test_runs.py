"""How a plan is cut into stacks, and stacks that draw the same samples and train in turns."""

from dataclasses import replace

import pytest

from stable_nalu.task.run import train_script
from stable_nalu.task.table import SCRIPTS, TASKS
from stable_nalu.training import runs
from stable_nalu.training.runs import LANES, TORCH, PlannedRun, stacks_of
from stable_nalu.training.shell import groups_of
from tests.ensemble.plans import COMMON, assert_identical, roots, train, trained
from torchlanes import gpu


def cut(script, *words, workers=1):
    spec = SCRIPTS[script]
    configs = spec.plan(words).configs
    plan = [replace(PlannedRun.of(spec, config), engine=LANES) for config in configs]
    return stacks_of(plan, workers)


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


@pytest.mark.parametrize(
    ("script", "refused", "processes"),
    [("single_layer", None, 1), ("single_layer", "no program for it", 2), ("depth", None, 2)],
)
def test_a_gpu_has_all_runs_in_a_process_and_a_stack(monkeypatch, script, refused, processes):
    """Those that it can train and whose samples it draws; the other ones go to all cores."""
    monkeypatch.setattr(gpu, "not_for_gpu", lambda programs: refused)
    monkeypatch.setattr(runs, "cores", lambda: 2)
    words = ("--input-size", "100") if script == "single_layer" else ()
    plan = SCRIPTS[script].plan(("--seed", "0-199", "--max-iterations", "100000", *words)).configs
    many = [replace(PlannedRun.of(SCRIPTS[script], c), engine=LANES) for c in plan]
    assert runs.worker_count(TASKS[script], many) == 2
    assert len(stacks_of(many, 1)) > (script == "single_layer")
    monkeypatch.setattr(runs, "has_gpu", lambda config: not config.no_cuda)
    assert runs.worker_count(TASKS[script], many) == processes
    assert [len(stack) for stack in stacks_of(many, 1)] == [200]


SCRIPT = "single_layer"
NOISY = ("--layer-type", "ReRegualizedLinearMNAC", "--operation", "mul", "--nmu-noise")
NOISES = ("[1,5]", "[1,2]")
SMALL = ("--log-interval", "10", "--input-size", "4")
LENGTH = ("--max-iterations", "25", *SMALL)


def stacks(*words, script=SCRIPT):
    spec = SCRIPTS[script]
    plan = [replace(PlannedRun.of(spec, c), engine=LANES) for c in spec.plan(words).configs]
    return list(enumerate(stacks_of(plan, 1)))


def numbers(numbered, script=SCRIPT):
    found = groups_of(SCRIPTS[script], numbered)
    return [[number for number, _ in group] for group in found]


def test_stacks_of_the_same_samples_are_a_group():
    swept = ("--seed", "0-3", "--noise-range", *NOISES)
    assert numbers(stacks(*NOISY, *swept)) == [[0, 1]]
    assert numbers(stacks(*NOISY, *swept, "--ensemble-size", "2")) == [[0, 2], [1, 3]]


@pytest.mark.parametrize("changed", [{"seed": 7}, {"batch_size": 64}, {"pytorch_precision": 64}])
def test_stacks_of_other_samples_are_not(changed):
    (first, second) = stacks(*NOISY, "--seed", "0-2", "--noise-range", *NOISES)
    other = [replace(run, config=run.config.replace(**changed)) for run in second[1]]
    assert numbers([first, (1, other)]) == [[0], [1]]


@pytest.mark.parametrize("changed", [{"operation": "add"}, {"max_iterations": 3}])
def test_another_operation_or_length_draws_the_same_samples(changed):
    ((_, stack),) = stacks(*NOISY, "--seed", "0-2")
    other = [replace(run, config=run.config.replace(**changed)) for run in stack]
    assert numbers([(0, stack), (1, other)]) == [[0, 1]]


def test_what_torch_trains_and_streams_with_stages_train_by_themselves():
    single = stacks(*NOISY, "--noise-range", *NOISES)
    assert numbers(single) == [[0, 1]]
    by_torch = [(k, [replace(run, engine=TORCH) for run in stack]) for k, stack in single]
    assert numbers(by_torch) == [[0], [1]]
    script = "single_layer_curriculum"
    words = ("--layer-type", "ReRegualizedLinearMNAC", "--mnac-epsilon", "0", "0.1")
    assert numbers(stacks(*words, "--seed", "0-1", script=script), script) == [[0], [1]]


def test_numbers_are_those_of_each_stack_alone(tmp_path):
    """With noise, penalties and limits of their own; a third stack has samples of its own."""
    words = (*NOISY, *LENGTH, "--seed", "0-1", "--clip-grad-norm", "1", "0.01")
    assert train(tmp_path / "group", SCRIPT, *words, "--noise-range", *NOISES) == 0
    for noise in NOISES:
        assert train(tmp_path / "alone", SCRIPT, *words, "--noise-range", noise) == 0
    assert_identical(trained(tmp_path / "group"), trained(tmp_path / "alone"))


def test_operations_and_lengths_side_by_side(tmp_path):
    """As the shards of an experiment are trained: each plan is cut by itself."""
    words = (*COMMON, *SMALL, "--seed", "0-1", "--layer-type", "ReRegualizedLinearMNAC")
    plans = [
        (*words, "--operation", operation, "--max-iterations", length)
        for operation, length in (("mul", "25"), ("add", "7"), ("squared", "32"))
    ]
    first, *others = plans
    with roots(tmp_path / "group"):
        beside = [[plan] for plan in others]
        assert train_script(SCRIPTS[SCRIPT], TASKS[SCRIPT], first, beside=beside) == 0
    for plan in plans:
        assert train(tmp_path / "alone", SCRIPT, *plan[len(COMMON) :]) == 0
    assert_identical(trained(tmp_path / "group"), trained(tmp_path / "alone"))


def test_stacks_that_stand_apart_catch_up(tmp_path):
    """As after a kill between the checkpoints of two stacks; ranges of a seed share a generator."""
    ranges = ("--interpolation-range", "[1,2]", "[-2,2]", "--extrapolation-range", *["[2,6]"] * 2)
    words = (*NOISY, "--log-interval", "10", "--seed", "0-1", *ranges)
    begun = (*words, "--max-iterations", "17", "--noise-range", NOISES[1])
    assert train(tmp_path / "cut", SCRIPT, *begun) == 0
    both = (*words, "--max-iterations", "30", "--noise-range", *NOISES)
    assert train(tmp_path / "cut", SCRIPT, *both, "--resume") == 0
    assert train(tmp_path / "whole", SCRIPT, *both) == 0
    assert_identical(trained(tmp_path / "cut"), trained(tmp_path / "whole"))
