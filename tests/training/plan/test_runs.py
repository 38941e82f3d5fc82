"""How a plan is cut into stacks."""

from stable_nalu.task import SCRIPTS
from stable_nalu.task.run import kind_of
from stable_nalu.training.plan.runs import LANES, PlannedRun, stacks_of


def test_the_simple_task_has_four_inputs():
    """Whatever size is asked for, so its runs share stacks like others of four inputs."""
    spec = SCRIPTS["simple_function_static"]
    words = ("--layer-type", "NALU", "--simple", "--seed", "0-99")
    runs = [
        PlannedRun(config, spec.run_name(config), engine=LANES)
        for config in spec.plan(words).configs
    ]
    assert runs[0].config.input_size == 100
    assert runs[0].config.inputs == 4
    assert [len(stack) for stack in stacks_of(kind_of(spec.name), spec, runs, 1)] == [100]
