"""What is decided of a stack when a plan is cut stays decided when it resumes."""

from dataclasses import replace
from pathlib import Path

import pytest

from stable_nalu.options import SCRIPTS
from stable_nalu.script import Interruption
from stable_nalu.training.arithmetic.trainer import KINDS
from stable_nalu.training.compiled import policy
from stable_nalu.training.compiled.policy import RUNS_OF_AN_ITERATION, stack_work
from stable_nalu.training.logging.console import StackView
from stable_nalu.training.plan import shell
from stable_nalu.training.plan.runs import (
    PlannedRun,
    SavedState,
    continued,
    stacks_of,
)

SPEC = SCRIPTS["single_layer"]
KIND = KINDS["single_layer"]
WORDS = ("--layer-type", "NMRU", "--seed", "0-3", "--max-iterations", "99")


def work(runs):
    return (runs + RUNS_OF_AN_ITERATION) * 100


def planned():
    configs = SPEC.plan(WORDS).configs
    return [PlannedRun(config, SPEC.run_name(config)) for config in configs]


def test_the_work_of_a_stack_is_that_of_all_its_runs():
    (stack,) = stacks_of(KIND, SPEC, planned(), 1)
    assert [run.stack_runs for run in stack] == [4] * 4
    assert stack_work(4, 100) == work(4)
    halves = stacks_of(KIND, SPEC, planned(), 2)
    assert [run.stack_runs for half in halves for run in half] == [2] * 4


def test_resuming_leaves_the_work_as_it_was():
    """With some runs ahead of the others, and with all of them near the end."""
    (stack,) = stacks_of(KIND, SPEC, planned(), 1)
    states = {run.name: {90: SavedState(Path("a"), 90, None, False)} for run in stack}
    states[stack[0].name] = {50: SavedState(Path("b"), 50, None, False)}
    parts = continued(stack, states)
    assert sorted(len(part) for part in parts) == [1, 3]
    assert {run.stack_runs for part in parts for run in part} == {4}


def test_code_is_compiled_by_the_work_of_the_plan(tmp_path, monkeypatch):
    """Whatever is left of it."""
    chosen = []

    def note(training, unit):
        chosen.append(training.compiled is not None)
        yield training
        raise KeyboardInterrupt

    monkeypatch.setattr(shell, "_train", note)
    monkeypatch.setattr(policy, "WORK_WORTH_COMPILING", work(4))
    (stack,) = stacks_of(KIND, SPEC, planned(), 1)
    for runs in (stack, stack[:2], [replace(run, stack_runs=3) for run in stack]):
        view = StackView(print, 0, 1)
        with pytest.raises(KeyboardInterrupt):
            shell.train_side_by_side(KIND, SPEC, [runs], [view], Interruption())
    assert chosen == [True, True, False]


def test_the_simple_task_has_four_inputs():
    """Whatever size is asked for, so its runs share stacks like others of four inputs."""
    spec = SCRIPTS["simple_function_static"]
    words = ("--layer-type", "NALU", "--simple", "--seed", "0-99")
    runs = [PlannedRun(config, spec.run_name(config)) for config in spec.plan(words).configs]
    assert runs[0].config.input_size == 100
    assert runs[0].config.inputs == 4
    assert [len(stack) for stack in stacks_of(KINDS[spec.name], spec, runs, 1)] == [100]
