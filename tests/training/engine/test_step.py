"""The engine's mathematics is torch's: iterations from one state against plain torch.

In float64 they agree within 1e-12. In float32 within 1e-6 or, where a sum cancels so that plain
torch itself is further than that from exact numbers, within a few times torch's own error.
"""

import math

import numpy as np
import pytest
import torch

from stable_nalu.training import engine_stack as stack
from stable_nalu.training import step
from stable_nalu.training.engine_stack import AS_TORCH, EXACT, SINGLE, TINY
from stable_nalu.training.recorder import numbers
from stable_nalu.training.task import Observed
from tests.training.engine.harness import UNITS, planned, training, words_of
from tests.turn import weekly


class Iterations:
    """The same iterations by the engine, by plain torch, and by plain torch in float64.

    Then an evaluation, if wanted, whose rows are not as many as a batch has.
    """

    def __init__(self, script, *words, precision, last=0, engine=True, evaluated=True):
        self.evaluated = evaluated
        configs = planned(script, *words, "--pytorch-precision", str(precision))
        doubles = planned(script, *words, "--pytorch-precision", "64")
        exact = training(script, doubles, engine=False)
        plain = training(script, configs, engine=False)
        own = training(script, configs)
        with torch.no_grad():
            start = {name: value[0] for name, value in own.model.state_dict().items()}
            plain.model.load_state_dict(start)
            exact.model.load_state_dict({name: v.to(exact_type(v)) for name, v in start.items()})
        self.engine = self._by_engine(own, last) if engine else {}
        noise = torch.get_rng_state()
        batches = [plain.task.feed.next() for _ in range(last + 1)]
        self.plain = self._by_torch(plain, batches)
        torch.set_rng_state(noise)
        torch.set_default_dtype(torch.float64)
        self.exact = self._by_torch(exact, [(x.double(), t.double()) for x, t in batches])

    def _by_engine(self, made, last):
        if last:
            made.engine.iterate(0, last)
        result, actual = made.engine.logged(last)
        made.engine.store()
        return self._numbers(made, result, [(item.tag, item.value) for item in actual])

    def _by_torch(self, made, batches):
        for k, (x, t) in enumerate(batches):
            made.recorder.written.clear()
            schedule = made.step.prepare(k)
            notes = made.recorder
            result = made.step.run(x, t, schedule, Observed(True), notes.write, lambda result: [])
        return self._numbers(made, result, made.recorder.written)

    def _numbers(self, made, result, actual):
        names = [name for name, p in made.model.named_parameters() if p.requires_grad]
        found = {f"actual {tag}": value for tag, value in actual}
        found |= {"criterion": result.criterion, "total": result.total}
        found["penalty"] = torch.zeros(1) if result.penalty is None else result.penalty
        pairs = zip(names, result.gradients or (), strict=False)
        found |= {f"gradient {name}": g for name, g in pairs if g is not None}
        found |= {f"state {name}": v.clone() for name, v in made.model.state_dict().items()}
        if self.evaluated:
            for tag, value in dict(made.task.measures(made.model)).items():
                found[f"evaluation {tag}"] = torch.as_tensor(value)
        return {k: v.detach().double().numpy().reshape(-1) for k, v in found.items() if v.numel()}


def exact_type(value):
    return torch.float64 if value.is_floating_point() else value.dtype


def errors(found, exact):
    """The largest error of each number, of gradients in units of the largest gradient."""
    assert found.keys() == exact.keys()
    sizes = {
        name: np.abs(value[np.isfinite(value)]).max(initial=0) for name, value in exact.items()
    }
    largest = max((s for name, s in sizes.items() if name.startswith("gradient")), default=1.0)
    worst = {}
    for name, value in exact.items():
        size = largest if name.startswith("gradient") else max(1.0, sizes[name])
        with np.errstate(invalid="ignore"):
            distance = np.abs(found[name] - value)
        distance[_alike(found[name], value) | _undecided(name, exact, largest)] = 0
        worst[name] = np.nan_to_num(distance, nan=np.inf).max() / (size or 1.0)
    return worst


def _undecided(name, exact, largest):
    """Where Adam divides a gradient that is rounding alone by its own size."""
    gradient = exact.get(name.replace("state ", "gradient "), np.array(largest))
    return np.abs(gradient) < TINY * largest if name.startswith("state ") else False


def _alike(a, b):
    """Where both are no numbers, or infinite."""
    return (a == b) | (np.isnan(a) & np.isnan(b))


def assert_torch_alike(script, *words, last=0, doubles_only=False, evaluated=True):
    """Iterations of the engine are those of plain torch, in both precisions."""
    how = {"last": last, "evaluated": evaluated}
    double = Iterations(script, *words, precision=64, **how)
    assert over(errors(double.engine, double.plain), EXACT) == {}
    if doubles_only:
        return
    single = Iterations(script, *words, precision=32, **how)
    own, torchs = errors(single.engine, single.exact), errors(single.plain, single.exact)
    apart = over(errors(single.engine, single.plain), SINGLE)
    assert {name: e for name, e in apart.items() if not own[name] <= AS_TORCH * torchs[name]} == {}


def over(found, bound):
    return {name: error for name, error in found.items() if not error <= bound}


UNDECIDED = {"DMU", "GradientBanditNALU"}
"""Units whose errors far outside turn with the last bit of a weight."""
FAST = {("single_layer", "ReRegualizedLinearMNAC"), ("simple_function_static", "NAC")}
SINGLES = {
    *FAST,
    *(
        ("single_layer", key)
        for key in ("NALU", "RealNPU", "NRU", "GumbelNAC", "EQLDiv", "MulMCFC")
    ),
}
IN_TWO_LAYERS = {"NAC", "ReRegualizedLinearMNAC", "NALU", "MCFC", "GumbelNAC", "SignNMRU", "ReLU"}
CASES = [
    pytest.param(
        *(script, key), marks=[] if (script, key) in FAST else [pytest.mark.slow, weekly(place)]
    )
    for place, (script, key) in enumerate(UNITS)
    if script == "single_layer" or key in IN_TWO_LAYERS
]


@pytest.mark.parametrize(("script", "key"), CASES)
def test_first_iteration(script, key):
    """In float32, all units have their kept bits."""
    how = {"doubles_only": (script, key) not in SINGLES, "evaluated": key not in UNDECIDED}
    assert_torch_alike(script, *words_of(script, key), **how)


MNAC = "--layer-type ReRegualizedLinearMNAC --operation mul"
PENALISED = "--regualizer 10 --regualizer-scaling-start 0 --regualizer-scaling-end 2"
EML = "single_layer --layer-type EML --operation mul --layer-option tree=bottom"
NALU = " ".join(words_of("single_layer", "NALU"))
VARIANTS = {
    "sgd": f"single_layer {MNAC} --optimizer sgd --momentum 0.9",
    "penalty": f"single_layer {MNAC} {PENALISED}",
    "clipped norm": f"single_layer {MNAC} --clip-grad-norm 0.01",
    "clipped values": f"single_layer_benchmark {MNAC} --clip-grad-value 0.01",
    "pcc": f"single_layer {MNAC} --train-criterion pcc",
    "mape": f"single_layer {MNAC} --train-criterion mape",
    "noise": f"single_layer {MNAC} --nmu-noise",
    "l1": f"single_layer {MNAC} --regualizer-l1",
    "robust": f"single_layer_robust {MNAC}",
    "trig": f"single_layer {NALU} --nalu-mul trig",
    "bandit": "single_layer --layer-type GradientBanditNALU --operation add",
    "trees": f"{EML} depth=3 --regualizer-z 0.1",
    "NPU": "single_layer_benchmark --layer-type NPU --operation mul",
    "quotients": "single_layer --layer-type NAC --operation div --batch-size 33",
    "squares of slices": "simple_function_static --layer-type NAC --operation squared",
    "roots of slices": "simple_function_static --layer-type NAC --operation root",
    "differences": "single_layer --layer-type NAC --operation sub --input-size 11",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "variant", [pytest.param(v, marks=weekly(place)) for place, v in enumerate(VARIANTS)]
)
def test_three_iterations(variant):
    """Moments, schedules and constraints go on as torch's do."""
    assert_torch_alike(*VARIANTS[variant].split(), last=2)


class AdamW(step.Adam):
    def numbers(self, step, rate):
        return *super().numbers(step, rate), 1 - 0.01 * rate

    def apply(self, parameter, gradient, slots, size, correction, kept):
        super().apply(parameter.mul_(kept), gradient, slots, size, correction)


class NAdam(step.Adam):
    def numbers(self, step, rate):
        *before, now, after = (
            self.beta_1 * (1 - 0.5 * 0.96 ** (0.004 * k)) for k in range(1, step + 2)
        )
        product = math.prod(before) * now
        sizes = -rate * (1 - now) / (1 - product), -rate * after / (1 - product * after)
        return *sizes, 1 - self.beta_2**step

    def apply(self, parameter, gradient, slots, size, of_average, correction):
        average, square = slots
        average.lerp_(gradient, 1 - self.beta_1)
        square.mul_(self.beta_2).addcmul_(gradient, gradient, value=1 - self.beta_2)
        denominator = square.div(correction).sqrt_().add_(self.epsilon)
        parameter.addcdiv_(gradient, denominator, value=size)
        parameter.addcdiv_(average, denominator, value=of_average)


@pytest.mark.parametrize("kind", [AdamW, NAdam])
def test_a_new_optimiser_needs_no_line_in_the_engine(kind, monkeypatch):
    monkeypatch.setitem(step.OPTIMIZERS, "adam", kind)
    monkeypatch.setattr(stack, "_PROGRAMS", {})
    assert_torch_alike("single_layer", *words_of("single_layer", "NAC"), last=2)


NOISY = """
import torch
from stable_nalu import Layer

class Noisy(Layer):
    def __init__(self, inputs, outputs, **options):
        super().__init__(inputs, outputs, **options)
        self.W = torch.nn.Parameter(torch.full((outputs, inputs), 0.5))

    def reset_parameters(self):
        torch.nn.init.constant_(self.W, 0.5)

    def forward(self, x):
        factor = self.random.uniform((1, 1), 3.0, 3.5, like=x)
        return x @ self.W.mT * factor + self.random.normal((1, 1), like=x)
"""


def test_two_kinds_of_noise(tmp_path):
    """One within bounds, of a layer of one's own."""
    (tmp_path / "noisy.py").write_text(NOISY)
    words = ("--operation", "add", "--layer-file", str(tmp_path / "noisy.py"))
    assert_torch_alike("single_layer", *words, "--layer-type", "Noisy", last=2)


@pytest.mark.parametrize("key", ["HardSoftmaxNAC", "HardSoftmaxNALU"])
def test_noise_in_evaluation(key):
    """Each pass over a set of rows draws what torch draws there."""
    configs = planned("single_layer", *words_of("single_layer", key))
    found = []
    for engine in (True, False):
        made = training("single_layer", configs, engine=engine)
        passes = [dict(made.task.measures(made.model)) for _ in range(2)]
        found.append(
            [error for one in passes for tag in sorted(one) for error in numbers(one[tag])]
        )
    assert len(found[0]) == 4
    assert found[0] == pytest.approx(found[1], rel=1e-6)


ENDS = {
    "a clock": f"{EML} iterations=2",
    "penalties": "single_layer --layer-type MCFC --regualizer-l1 --verbose",
    "no rows": "single_layer_robust --layer-type NALU --operation mul",
    "few rows": f"single_layer {MNAC} --batch-size 70 --verbose",
}


@pytest.mark.parametrize("case", ENDS)
def test_the_end_is_logged_as_by_torch(case):
    """Where a batch has more samples than there are rows, it begins with the first row again."""
    script, *words = ENDS[case].split()
    configs = planned(script, *words, iterations=4, log_interval=3)
    found = []
    for engine in (True, False):
        made = training(script, configs, engine=engine)
        for _ in made.train():
            pass
        made.recorder.written.clear()
        made.finish()
        actual = {tag: value for tag, value in made.recorder.written}
        found.append(
            {tag: sum(numbers(value).reshape(-1).tolist()) for tag, value in actual.items()}
        )
    assert found[0]
    assert found[0] == pytest.approx(found[1], rel=1e-4)


def test_logged_values_are_those_before_the_update():
    """Copies of numbers are made before these are overwritten."""
    made = training("single_layer", planned("single_layer", *words_of("single_layer", "LinearNAC")))
    before = made.model.state_dict()["layer_1.layer.W"].clone()
    _, actual = made.engine.logged(0)
    (weights,) = [item.value for item in actual if item.tag.endswith("/W")]
    assert weights.flatten().tolist() == before.flatten().tolist()
