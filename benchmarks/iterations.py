"""Iterations of many runs: the engine, a hand-written loop and a bare loop of one run, in turns."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from unittest import mock

import torch

from stable_nalu.network import sparse_gradients
from stable_nalu.network.sequences import RegressionMnistNetwork
from stable_nalu.paper.experiment import words
from stable_nalu.paper.index import find

from . import bare, loops
from .engine import Iterations
from .table import Measurement, Row

TURNS = 5
BARE_ITERATIONS = 1000
RANGES = (
    "--interpolation-range [-20,-10] [-2,-1] [-1.2,-1.1] [-0.2,-0.1] [-2,2] [0.1,0.2] [1,2] "
    "[1.1,1.2] [10,20] --extrapolation-range [-40,-20] [-6,-2] [-6.1,-1.2] [-2,-0.2] "
    "[[-6,-2],[2,6]] [0.2,2] [2,6] [1.2,6] [20,40]"
)
OF_225 = f"{RANGES} --seed 0-24 --no-cuda --no-save"
TEN = "--input-size 10 --subset-ratio 0.1 --max-iterations 100000"
NMU = "--operation mul --layer-type ReRegualizedLinearMNAC --nac-mul mnac"
REAL_NPU = (
    "--operation div --layer-type RealNPU --nac-mul real-npu --learning-rate 5e-3 "
    "--regualizer-shape none --regualizer 0 --regualizer-beta-start 1e-9 "
    "--regualizer-beta-end 1e-7 --regualizer-l1 --npu-clip wg --regualizer-npu-w 1 "
    "--regualizer-gate 1 --npu-Wr-init xavier-uniform-constrained --reg-scale-type madsen"
)
NRU = "--operation div --layer-type NRU --nac-mul mnac --learning-rate 1"
NMRU = "--operation div --layer-type SignNMRU --clip-grad-norm 1 --learning-rate 1e-2"
PAIR = "--operation mul --layer-type ReRegualizedLinearNAC --nac-mul mnac --no-cuda --no-save"
TABLE_2 = [
    f"--operation {operation.name} {' '.join(words(model.flags))} --seed 0-19 --no-cuda --no-save"
    for model in find("function_task_static").models
    for operation in model.variants
]
MLP = (
    "--operation mul --layer-type ReLU6 --hidden-size 100 --seed 0-24 --no-cuda --no-save "
    "--interpolation-range [1,2] --extrapolation-range [2,6]"
)


@dataclass(frozen=True)
class Case:
    """Command lines whose runs train, a bare loop of one run, and perhaps one written by hand.

    of_bare: the goal as a part of the bare loop, one in so many. of_loop: as a multiple of the
    loop written by hand. at_most: in microseconds.
    """

    name: str
    title: str
    lines: Sequence[str]
    model: Callable[[], torch.nn.Module]
    batch: bare.Batch
    iterations: int
    script: str = "single_layer"
    loop: tuple[str, ...] = ()
    of_bare: int | None = None
    of_loop: float | None = None
    at_most: float | None = None

    def measure(self, share: float = 1.0) -> Row:
        """Return the least costs of several turns."""
        few = max(4, int(self.iterations * share))
        engine = Iterations(self.script, self.lines)
        alone = bare.BareLoop(self.model(), self.batch)
        name, *defined = self.loop or ("",)
        costs = []
        for _ in range(max(1, int(TURNS * share))):
            loop = loops.hand_written(name, tuple(defined), few) if name else None
            costs.append((engine.turn(few), loop, alone.turn(max(4, int(BARE_ITERATIONS * share)))))
        own, loop, plain = (min(kind) if kind[0] else None for kind in zip(*costs, strict=True))
        assert own is not None
        assert plain is not None
        return self._row(own, loop, plain)

    def _row(self, own: float, loop: float | None, plain: float) -> Row:
        goals = [
            (f"1/{self.of_bare or 0:,} of bare", self.of_bare and own * self.of_bare <= plain),
            (f"{self.of_loop} of the loop", self.of_loop and loop and own <= self.of_loop * loop),
            (f"{self.at_most} us", self.at_most and own <= self.at_most),
        ]
        asked = [self.of_bare, self.of_loop, self.at_most]
        wanted = [goal for goal, given in zip(goals, asked, strict=True) if given]
        return Row(
            self.name,
            self.title,
            f"{own:.3g} us",
            ", ".join(text for text, _ in wanted),
            all(met for _, met in wanted),
            "" if loop is None else f"{loop:.3g} us ({own / loop:.2f})",
            f"{plain:.3g} us (1/{plain / own:.0f})",
        )


def _small(name: str, title: str, flags: str, model: Callable[[int], torch.nn.Module], **goals):
    """Return two cases of 225 runs: two inputs, and ten."""
    batch = bare.product if "mul" in flags.split() else bare.ratio
    loop = ("two_inputs",) if name == "nmu" else ()
    two, ten = partial(model, 2), partial(model, 10)
    lines = [f"{flags} {OF_225}"]
    yield Case(name, f"225 {title}s, 2 inputs", lines, two, batch(2), 4000, loop=loop, **goals)
    lines = [f"{flags} {TEN} {OF_225}"]
    yield Case(f"{name}-10", f"225 {title}s, 10 inputs", lines, ten, batch(10), 800, of_bare=250)


CASES = [
    *_small("nmu", "NMU", NMU, bare.NMU, of_bare=1000, of_loop=1.3),
    *_small("npu", "Real NPU", REAL_NPU, bare.RealNPU, of_bare=400),
    *_small("nru", "NRU", NRU, bare.NRU, of_bare=400),
    *_small("nmru", "NMRU", NMRU, bare.NMRU, of_bare=400),
    Case(
        "pair",
        "50 pairs of NAU and NMU, 100 inputs",
        [f"{PAIR} --seed 0-49"],
        bare.NAUNMU,
        bare.product_of_sums,
        200,
        script="simple_function_static",
        loop=("hundred_inputs", "-DPAIRS=1", "-DSEEDS=50"),
        of_bare=100,
    ),
    Case(
        "group",
        "Table 2 of Neural Arithmetic Units: 11 pairs of 20 seeds, 100 inputs",
        TABLE_2,
        bare.NAUNMU,
        bare.product_of_sums,
        60,
        script="simple_function_static",
        loop=("hundred_inputs",),
        of_bare=120,
        of_loop=1.5,
    ),
    Case(
        "ranges",
        "144 pairs of NAU and NMU, 16 seeds of nine ranges, 100 inputs",
        [f"{PAIR} {RANGES} --seed 0-15"],
        bare.NAUNMU,
        bare.product_of_sums,
        100,
        script="simple_function_static",
        of_bare=100,
    ),
    Case("mlp", "25 MLPs, 100 hidden units", [MLP], bare.mlp, bare.product(2), 1000, at_most=15),
]


def _jax(share: float) -> Row:
    """Return the cost of 225 NMUs here and in JAX."""
    engine = Iterations("single_layer", [f"{NMU} {OF_225}"])
    turns = max(1, int(TURNS * share))
    rival = loops.jax(turns)
    own = min(engine.turn(max(4, int(4000 * share))) for _ in range(turns))
    title = "225 NMUs, 2 inputs, beside JAX"
    if rival is None:
        return Row("jax", title, f"{own:.3g} us", "JAX is not installed", True)
    return Row("jax", title, f"{own:.3g} us", f"JAX: {min(rival):.3g} us", own <= min(rival))


def _digits(share: float) -> Row:
    """Compare a step of the reader of digits to the same in torch alone."""
    model, x = RegressionMnistNetwork(), torch.rand(128, 1, 28, 28)
    costs: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(max(1, int(TURNS * share))):
        for compiled, kept in costs.items():
            library = sparse_gradients.library if compiled else lambda: None
            with mock.patch.object(sparse_gradients, "library", library):
                began = time.process_time()
                torch.autograd.grad(model(x).square().sum(), list(model.parameters()))
                kept.append(time.process_time() - began)
    own, plain = (min(kept) * 1e3 for kept in costs.values())
    title = "a step of the network that reads digits, 128 images; beside torch alone"
    bare = f"{plain:.3g} ms (1/{plain / own:.2f})"
    return Row("digits", title, f"{own:.3g} ms", "1/2 of torch", 2 * own <= plain, bare=bare)


MEASUREMENTS = [
    *(Measurement(c.name, c.measure) for c in CASES),
    Measurement("jax", _jax),
    Measurement("digits", _digits),
]
