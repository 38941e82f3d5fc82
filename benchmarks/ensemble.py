"""Hundreds of runs at once: cost per run and iteration against bare loops and bare drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from stable_nalu.catalogue.experiment import words
from stable_nalu.catalogue.index import find
from stable_nalu.script import Interruption

from . import bare
from .clock import Cost, median, spent
from .stopwatch import Stopwatch, train
from .table import Row, compared, microseconds

REPEATS = 7
BARE_ITERATIONS = 2000
DRAWN_ELEMENTS = 2**16
SINGLE_LAYER_RANGES = (
    "--interpolation-range [-20,-10] [-2,-1] [-1.2,-1.1] [-0.2,-0.1] [-2,2] [0.1,0.2] [1,2] "
    "[1.1,1.2] [10,20] --extrapolation-range [-40,-20] [-6,-2] [-6.1,-1.2] [-2,-0.2] "
    "[[-6,-2],[2,6]] [0.2,2] [2,6] [1.2,6] [20,40]"
)
SINGLE_LAYER = f"{SINGLE_LAYER_RANGES} --seed 0-24 --no-cuda --no-save --log-interval 1000000000"
TEN_INPUTS = "--input-size 10 --subset-ratio 0.1 --max-iterations 100000"
NMU = "--operation mul --layer-type ReRegualizedLinearMNAC --nac-mul mnac"
REAL_NPU = (
    "--operation div --layer-type RealNPU --nac-mul real-npu --learning-rate 5e-3 "
    "--regualizer-shape none --regualizer 0 --regualizer-beta-start 1e-9 "
    "--regualizer-beta-end 1e-7 --regualizer-l1 --npu-clip wg --regualizer-npu-w 1 "
    "--regualizer-gate 1 --npu-Wr-init xavier-uniform-constrained --reg-scale-type madsen"
)
NRU = "--operation div --layer-type NRU --nac-mul mnac"
NMRU = "--operation div --layer-type SignNMRU --clip-grad-norm 1 --learning-rate 1e-2"
ARITHMETIC = (
    "--operation mul --layer-type ReRegualizedLinearNAC --nac-mul mnac --seed 0-49 --no-cuda "
    "--no-save"
)
TABLE_2 = [
    f"--operation {operation} {' '.join(words(model.flags))} --seed 0-19 --no-cuda --no-save "
    "--log-interval 1000000000"
    for model in find("function_task_static").models
    for operation in (variant.name for variant in model.variants)
]
RECURRENT = (
    "--operation add --seed 0-19 --random-models 10 --input-range [0,1] --subset-ratio 0.25 "
    "--learning-rate 1e-2 --clip-grad-norm 1 --no-cuda --no-save --max-iterations 990"
)
"""Of table 1 of the NALU paper, so short that errors are measured at the start alone."""


def ramp(start: int, end: int) -> str:
    """Let the scale of the penalty grow between two iterations."""
    return f"--regualizer-scaling-start {start} --regualizer-scaling-end {end}"


Model = Callable[[int], torch.nn.Module]
"""From the number of inputs."""


@dataclass(frozen=True)
class Case:
    """Runs of one command line, or of several that train side by side, and a bare loop of one run.

    updates: of what the script counts as an iteration.
    """

    title: str
    script: str
    words: str | Sequence[str]
    model: Callable[[], torch.nn.Module]
    batch: bare.Batch
    inputs: int
    runs: int
    aim: str
    iterations: int
    drawing_aim: str | None = None
    updates: int = 1
    bare_iterations: int = BARE_ITERATIONS


def _two(
    title: str,
    words: str,
    model: Model,
    batch: bare.Batch,
    drawing: str | None = None,
    aim: str = "1/50",
):
    words = f"{words} {SINGLE_LAYER} --max-iterations 50000"
    return Case(title, "single_layer", words, lambda: model(2), batch, 2, 225, aim, 2000, drawing)


def _ten(title: str, words: str, model: Model, batch: bare.SizedBatch):
    words = f"{words} {SINGLE_LAYER} {TEN_INPUTS}"
    return Case(
        f"{title}, 10 inputs",
        "single_layer",
        words,
        lambda: model(10),
        lambda random: batch(random, 10),
        10,
        225,
        "1/40",
        500,
    )


CASES = {
    "in2": [
        _two("NMU", f"{NMU} {ramp(20000, 35000)}", bare.NMU, bare.multiply, "3"),
        _two("Real NPU", f"{REAL_NPU} {ramp(40000, 50000)}", bare.RealNPU, bare.divide),
        _two("NRU", f"{NRU} --learning-rate 1 {ramp(20000, 35000)}", bare.NRU, bare.divide),
        _two("NMRU", f"{NMRU} {ramp(20000, 35000)}", bare.NMRU, bare.divide),
        _two("NMU, penalty growing", f"{NMU} {ramp(0, 50000)}", bare.NMU, bare.multiply),
        _two("NMRU, penalty growing", f"{NMRU} {ramp(0, 50000)}", bare.NMRU, bare.divide),
        _two(
            "NMRU, not compiled",
            f"{NMRU} {ramp(20000, 35000)} --no-compile",
            bare.NMRU,
            bare.divide,
            aim="1/40",
        ),
    ],
    "in10": [
        _ten("NMU", f"{NMU} {ramp(50000, 75000)}", bare.NMU, bare.multiply),
        _ten("Real NPU", f"{REAL_NPU} {ramp(50000, 75000)}", bare.RealNPU, bare.divide),
        _ten("NRU", f"{NRU} {ramp(50000, 75000)}", bare.NRU, bare.divide),
        _ten("NMRU", f"{NMRU} {ramp(50000, 75000)}", bare.NMRU, bare.divide),
    ],
    "arithmetic": [
        Case(
            "NAU and NMU, 100 inputs",
            "simple_function_static",
            f"{ARITHMETIC} --log-interval 1000000000 --max-iterations 5000000",
            bare.NAUNMU,
            bare.multiply_sums,
            100,
            50,
            "1/16",
            300,
            "2",
        )
    ],
    "group": [
        Case(
            "Table 2 of Neural Arithmetic Units, 11 pairs of 20 seeds",
            "simple_function_static",
            TABLE_2,
            bare.NAUNMU,
            bare.multiply_sums,
            100,
            220,
            "1/45",
            100,
            "0.25",
        )
    ],
    "tasks": [
        Case(
            "Identity, Tanh",
            "identity_autoencoder",
            "--layer-type Tanh --seed 0-99 --max-iterations 10000 --no-cuda --no-save "
            "--log-interval 1000000000",
            bare.autoencoder,
            bare.whole_numbers,
            1,
            100,
            "1/30",
            500,
        ),
        Case(
            "Notebook, 10,000 rows",
            "notebook_addition",
            "--layer-type NALU --seed 0-19 --no-cuda --no-save --log-interval 1000000000",
            lambda: torch.nn.Sequential(bare.NALU(10, 2), bare.NALU(2, 1)),
            bare.ten_numbers(10_000),
            10,
            20,
            "1/5",
            25,
            bare_iterations=100,
        ),
        *(
            Case(
                f"recurrent {unit}, 10 steps",
                "simple_function_recurrent",
                f"--layer-type {unit} {RECURRENT}",
                model,
                bare.sums_over_time,
                100,
                20,
                "1/5",
                100,
                bare_iterations=500,
            )
            for unit, model in (
                ("NAC", bare.NACRecurrent),
                ("LSTM", partial(bare.TorchRecurrent, torch.nn.LSTM)),
                ("RNN-ReLU", partial(bare.TorchRecurrent, torch.nn.RNN, nonlinearity="relu")),
                ("NALU", lambda: bare.Recurrent(bare.NALU(12, 2), bare.NALU(2, 1))),
            )
        ),
        Case(
            "Counting, NAC, ten digits",
            "mnist_counting",
            "--layer-type NAC --batch-size 17 --no-cuda --no-save --max-epochs 1000000 "
            "--log-interval 1000000000",
            bare.NACOfDigits,
            bare.digit_sequences(17),
            10,
            1,
            "1.1",
            4,
            updates=7,
            bare_iterations=28,
        ),
        *(
            Case(
                f"Mystery, {unit}",
                "mystery_arithmetic",
                f"--layer-type {unit} --seed 0-19 --no-cuda --no-save --max-epochs 1000000 "
                "--log-interval 1000000000",
                model,
                bare.mystery_rows(),
                100,
                20,
                "1/5",
                5,
                updates=32,
            )
            for unit, model in (("NALU", bare.ArticleNALU), ("NAC", bare.ArticleNAC))
        ),
        *(
            Case(
                f"{kind}, {unit}",
                "program_evaluation",
                f"--program {kind} --layer-type {unit} --seed 0-{runs - 1} "
                "--max-iterations 1000000 --no-cuda --no-save --log-interval 1000000000",
                model,
                batch,
                10,
                runs,
                aim,
                100 if kind == "addition" else 20,
                bare_iterations=100 if kind == "addition" else 20,
            )
            for kind, batch in (("addition", bare.sums), ("programs", bare.written_programs))
            for unit, model in (
                ("NALU", partial(bare.ProgramReader, kind == "programs")),
                ("LSTM", bare.LSTMReader),
            )
            for runs, aim in ((1, "1.1"), (10, "1/2"))
        ),
    ],
}


def rows(part: str) -> Iterator[Row]:
    """Measure the rows of one part of the table."""
    for case in CASES[part]:
        yield from _measure(case)


def _measure(case: Case) -> Iterator[Row]:
    loop = bare.BareLoop(case.model(), case.batch)
    interruption = Interruption()
    rivals = {
        "bare": lambda: spent(lambda: loop.run(case.bare_iterations)) / case.bare_iterations,
        "drawing": lambda: _drawing(case),
    }
    watch = Stopwatch(case.iterations, REPEATS, rivals, interruption)
    train(case.script, case.words, watch, interruption)
    own = median(watch.own) / (case.runs * case.updates)
    for rival, title, aim in (("bare", "loop", case.aim), ("drawing", "drawing", case.drawing_aim)):
        if aim is not None:
            costs = own, median(watch.others[rival])
            title = f"{case.title}: {case.runs} run{'s' * (case.runs > 1)} / bare {title}"
            yield compared(title, costs, aim, microseconds)


def _drawing(case: Case) -> Cost:
    """Measure how long numpy draws samples, per run and iteration, in blocks that stay in cache."""
    generators = [np.random.RandomState(seed) for seed in range(case.runs)]
    batches = DRAWN_ELEMENTS // (bare.BATCH * case.inputs)
    shape = (batches, bare.BATCH, case.inputs)
    cost = spent(lambda: [random.uniform(1, 2, shape) for random in generators])
    return cost / (batches * case.runs)
