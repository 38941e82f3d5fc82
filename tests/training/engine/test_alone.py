"""A run is alone: its bits do not depend on what trains beside it, nor on the cuts of calls."""

import pytest

from stable_nalu.task.table import SCRIPTS, TASKS
from stable_nalu.training.shell import PlannedRun, with_engine
from tests.training.engine.harness import IN_TORCH, left_behind, left_together, planned, words_of

RANGES = (
    *("--interpolation-range", "[1,2]", "[-2,2]", "[0.1,0.2]", "[10,20]", "[[-2,-1],[1,2]]"),
    *("--extrapolation-range", "[2,6]", "[[-6,-2],[2,6]]", "[0.2,2]", "[20,40]", "[[-6,-2],[2,6]]"),
)
POSITIVE = {"MulMCFC"}
"""Units whose numbers are none of negative inputs."""
TOO_LARGE = {("simple_function_static", "NMRU"), ("simple_function_static", "SignNMRU")}
"""Units whose errors are infinite at first where 100 inputs are small."""

SLOW = {
    *(("single_layer", key) for key in ("NRU", "iNALU", "GradientBanditNALU", "EQLDiv", "EML")),
    *(("simple_function_static", key) for key in ("ReRegualizedLinearNAC", "MulMCFC", "NMRU")),
}
"""One of each kind: gates, draws, hooks after a step, trees, sums of slices."""
FAST = {
    ("single_layer", "ReRegualizedLinearMNAC"),
    ("single_layer", "RealNPU"),
    ("simple_function_static", "NALU"),
    ("single_layer", "GumbelNAC"),
}
CASES = [*sorted(FAST), *(pytest.param(*u, marks=pytest.mark.slow) for u in sorted(SLOW))]


def assert_alone(script, configs, chosen, pace=4096):
    """Chosen runs of a stack leave the same bits alone, three together, and in calls of 7."""
    together = left_behind(script, configs, pace)
    for run in chosen:
        (alone,) = left_behind(script, [configs[run]], 7)
        assert_equal(alone, together[run])
    three = [configs[run] for run in (*chosen, 0)][:3]
    assert_equal(left_behind(script, three, 3)[0], together[chosen[0]])


def assert_equal(one, other):
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


def mixed(script, key, *words, seeds="0-5", **keywords):
    """Runs of mixed ranges and seeds."""
    ranges = [] if key in POSITIVE or (script, key) in TOO_LARGE else RANGES
    unit = ["--operation", "mul", "--layer-type", key, *ranges, "--seed", seeds]
    return planned(script, *unit, *words, **keywords)


@pytest.mark.parametrize(("script", "key"), CASES)
def test_among_26(script, key):
    configs = mixed(script, key, iterations=14, log_interval=9)[:26]
    assert_alone(script, configs, [min(len(configs) - 1, 17)])


NMU, NAU = "ReRegualizedLinearMNAC", "ReRegualizedLinearNAC"
VARIANTS = {
    "noise": f"single_layer {NMU} --nmu-noise",
    "clipped": "single_layer NALU --clip-grad-norm 0.5 1e-3 2",
    "clipped values": "single_layer_benchmark NALU --clip-grad-value 0.5 1e-3",
    "rates": "single_layer NMRU --learning-rate 1e-3 3e-2 5",
    "pcc": f"single_layer {NMU} --train-criterion pcc",
    "pcc, then mse": f"single_layer {NMU} --train-criterion pcc-mse --pcc2mse-iteration 13",
    "l1": "single_layer RealNPU --regualizer-l1 --input-size 10",
    "10 inputs": f"single_layer {NMU} --input-size 10",
    "float64": "single_layer NRU --pytorch-precision 64",
    "curriculum": f"single_layer_curriculum {NMU} --learning-rate 2e-2",
    "robust": f"single_layer_robust {NMU}",
    "sgd": f"single_layer {NMU} --optimizer sgd --momentum 0.9 0.1",
    "normal samples": f"single_layer {NMU} --sample-distribution truncated-normal 0 1 10 1",
    "restarts": "single_layer_benchmark iNALU --reinit --reinit-epoch-interval 5 "
    "--reinit-max-stored-losses 4",
    "other distribution": "single_layer NAC --sample-distribution exponential 2",
    "NPU penalties": "single_layer_benchmark NPU --regualizer-npu-w 1",
    "odd batch": f"single_layer {NMU} --batch-size 33",
}
QUICK = {"noise", "clipped"}


@pytest.mark.parametrize(
    "variant", [pytest.param(v, marks=[] if v in QUICK else pytest.mark.slow) for v in VARIANTS]
)
def test_variant_among_many(variant):
    script, key, *words = VARIANTS[variant].split()
    configs = mixed(script, key, *words, seeds="0-2")
    assert_alone(script, configs, [len(configs) // 2 + 1, len(configs) - 1], pace=5)


COMPANIES = {
    "units and operations": [
        "simple_function_static",
        (NMU, "mul", 20),
        (NAU, "add", 20),
        ("NALU", "mul", 20),
    ],
    "other log points and lengths": [
        "single_layer",
        (NMU, "mul", 20),
        (NAU, "sub", 14),
        ("NALU", "add", 7),
    ],
    "noise and other samples": [
        "single_layer",
        *((NMU, "mul", 20, "--nmu-noise"), (NAU, "add", 20)),
        (NAU, "add", 20, "--sample-distribution", "exponential", "2"),
    ],
}


@pytest.mark.parametrize("company", COMPANIES)
def test_stacks_that_share_samples(company):
    """Each run leaves what it leaves alone, whoever has gone on before or has ended."""
    script, *members = COMPANIES[company]
    ranges = RANGES[:3] + RANGES[6:9] if script == "single_layer" else ()
    stacks = []
    for key, operation, last, *words in members:
        words += ["--layer-type", key, "--operation", operation, *ranges, "--seed", "0-2"]
        configs = planned(script, *words, iterations=last, log_interval=last // 2 + 1)
        stacks.append((script, configs))
    together = left_together(stacks, 3)
    for (_, configs), own in zip(stacks, together, strict=True):
        for run in (0, len(configs) - 1):
            assert_equal(left_behind(script, [configs[run]])[0], own[run])


def engine_of(script, key, *more):
    (config,) = planned(script, *words_of(script, key), *more)
    return with_engine(TASKS[script], PlannedRun.of(SCRIPTS[script], config)).engine


def test_units_that_are_trained_in_torch_say_why():
    wanted = [(key, why, ()) for key, why in IN_TORCH.items()]
    wanted += [("EML", "more than 20,000", ("--layer-option", "depth=9"))]
    wanted += [("ReRegualizedLinearMNAC", "a batch of one", ("--batch-size", "1"))]
    for key, why, more in wanted:
        assert engine_of("single_layer", key, *more).startswith(f"torch: {why}"), key
