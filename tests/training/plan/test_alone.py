"""A single run that is long enough trains as a compiled stack of one, to the bits it has alone."""

import pytest
from stable_nalu.training.compiled.errors import CompiledErrors
from stable_nalu.training.compiled.step import CompiledStep

from stable_nalu.training.arithmetic import trainer
from stable_nalu.training.arithmetic.trainer import ArithmeticTraining
from stable_nalu.training.compiled import policy
from stable_nalu.training.plan import shell
from tests.ensemble.plans import furthest, train, trained
from tests.training.tasks.resuming import assert_an_interruption_changes_nothing

NMU = ("--operation", "mul", "--layer-type", "ReRegualizedLinearNAC", "--nac-mul", "mnac")
NOISY = ("ReRegualizedLinearMNAC", "--nmu-noise")
LENGTH = ("--max-iterations", "120", "--log-interval", "40", "--seed", "3")
RAMP = ("--regualizer-scaling-start", "20", "--regualizer-scaling-end", "80")


def as_recorded(graph):
    return graph


@pytest.fixture
def stacked(monkeypatch):
    """Whether each training that was built to train was a stack; code is worth making, unfused."""

    class Step(CompiledStep):
        def __init__(self, step):
            super().__init__(step, as_recorded)

    class Errors(CompiledErrors):
        def __init__(self, model):
            super().__init__(model, as_recorded)

    monkeypatch.setattr(trainer, "CompiledStep", Step)
    monkeypatch.setattr(trainer, "CompiledErrors", Errors)
    for name in ("WORK_WORTH_COMPILING", "ELEMENTS_WORTH_COMPILING"):
        monkeypatch.setattr(policy, name, 0)
    found, training = [], shell._train

    def note(one, unit):
        found.append(one.stacked)
        return training(one, unit)

    monkeypatch.setattr(shell, "_train", note)
    return found


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("simple_function_static", (*NMU, *RAMP)),
        ("simple_function_static", ("--operation", "mul", "--layer-type", "NALU")),
        ("simple_function_static", (*NMU, *RAMP, "--hidden-size", "10")),
        ("simple_function_static", (*NMU, "--simple", "--regualizer-scaling-start", "50")),
        ("single_layer", ("--operation", "div", "--layer-type", "SignNMRU", *RAMP)),
        ("single_layer_benchmark", ("--operation", "mul", "--layer-type", "ReLU", "--mlp-bias")),
        ("single_layer", ("--operation", "mul", "--layer-type", *NOISY, *RAMP)),
        ("single_layer_benchmark", ("--operation", "add", "--layer-type", "iNALU", "--reinit")),
    ],
    ids=lambda value: value if isinstance(value, str) else "_".join(value[3:]),
)
def test_every_number_is_that_of_the_run_alone(script, words, stacked, tmp_path, capsys):
    said = []
    for way in ((), ("--no-compile",)):
        folder = tmp_path / f"{len(said)}"
        assert train(folder, script, *LENGTH, *words, *way) == 0
        said.append(capsys.readouterr().out.replace(str(folder), ""))
    assert stacked[1] is False
    one, two = (trained(tmp_path / way) for way in "01")
    assert one.keys() == two.keys()
    for name, run in one.items():
        assert set(furthest(run, two[name]).values()) == {0}
    assert said[0].replace("no_compile: False", "no_compile: True") == said[1]


@pytest.mark.parametrize("before", [(), ("--no-compile",)], ids=["compiled", "plain"])
@pytest.mark.parametrize("words", [(*NMU[:3], *NOISY, *RAMP), (*NMU, *RAMP)], ids=["sNMU", "NMU"])
def test_it_goes_on_where_either_way_has_stopped(words, before, stacked, tmp_path):
    half = [*LENGTH]
    half[1] = "60"
    assert train(tmp_path / "parts", "single_layer", *half, *words, *before) == 0
    assert train(tmp_path / "parts", "single_layer", *LENGTH, *words, "--resume") == 0
    assert train(tmp_path / "whole", "single_layer", *LENGTH, *words) == 0
    parts, whole = trained(tmp_path / "parts"), trained(tmp_path / "whole")
    for name, run in whole.items():
        assert set(furthest(run, parts[name]).values()) == {0}


@pytest.mark.parametrize("agrees", [True, False])
def test_it_is_a_stack_only_where_numbers_agree(agrees, stacked, monkeypatch, tmp_path):
    monkeypatch.setattr(ArithmeticTraining, "agrees_with", lambda *_: agrees)
    assert train(tmp_path, "single_layer", *LENGTH, *NMU) == 0
    assert stacked == [agrees]


def test_a_short_run_is_none(stacked, monkeypatch, tmp_path):
    monkeypatch.setattr(policy, "WORK_WORTH_COMPILING", 10**9)
    assert train(tmp_path, "single_layer", *LENGTH, *NMU) == 0
    assert stacked == [False]


def test_a_layer_of_the_users_is_none(stacked, monkeypatch, tmp_path):
    """Its stacks are compared with it."""
    monkeypatch.setattr(shell, "sources", lambda units: ["a file"])
    assert train(tmp_path, "single_layer", *LENGTH, *NMU) == 0
    assert stacked == [False]


def test_other_sums_are_noticed(monkeypatch):
    """The order in which torch adds products decides, which no setting here changes."""
    from tests.training.compiled.test_step import session

    runs = [session(*NMU, *LENGTH, stacked=stacked) for stacked in (False, True)]
    step = runs[1].step.run

    def nudged(iteration, x, t):
        return step(iteration, x * (1 + 2**-23), t)

    monkeypatch.setattr(runs[1].step, "run", nudged)
    assert not runs[0].agrees_with(runs[1])


def test_a_resumed_run_evaluates_as_it_began(stacked, monkeypatch):
    """All log points of a run count, not those that are left, where code is made for errors."""
    words = ("--operation", "mul", "--layer-type", "NALU", *LENGTH)
    # Four points, two sets of two inputs.
    monkeypatch.setattr(policy, "ELEMENTS_WORTH_COMPILING", 4 * 2 * 2 * 10_000)
    made, build = [], trainer.CompiledErrors
    monkeypatch.setattr(trainer, "CompiledErrors", lambda model: made.append(1) or build(model))
    assert_an_interruption_changes_nothing(monkeypatch, "single_layer", words, 80)
    assert len(made) == 3
