"""The batch scripts, under the names and with the arguments of the published ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from stable_nalu.console import plural
from stable_nalu.errors import OptionError, UsageError, did_you_mean
from stable_nalu.machine import CHECKOUT
from stable_nalu.paper.experiment import MEASURED, Experiment, Model, Resources, Shown, named, words
from stable_nalu.paper.index import EXPERIMENTS, find, known

FOLDER = CHECKOUT / "lfs_batch_jobs"


@dataclass(frozen=True)
class JobScript:
    """A file below `lfs_batch_jobs/`, without `.sh`, and the experiments whose models it trains.

    gpu_argument: it takes a GPU's number behind the seeds. only: keys of its models, or of the
    others behind `-`.
    """

    name: str
    experiments: tuple[str, ...]
    gpu_argument: bool = False
    only: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """Return the path of the generated file."""
        return FOLDER / f"{self.name}.sh"

    def shows(self) -> list[Experiment]:
        """Return the experiments whose models it trains."""
        return [EXPERIMENTS[key] for key in self.experiments]

    def of_figure(self, figure: str | None) -> JobScript:
        """Return the script with the models of one figure, by its number or its key."""
        if figure is None:
            return self
        numbers = {e.key: [_number(shown) for shown in e.shown] for e in self.shows()}
        keys = tuple(key for key in numbers if figure in (key, *numbers[key]))
        if not keys:
            listed = ", ".join(f"{' or '.join(ns)} ({key})" for key, ns in numbers.items())
            problem = f"{self.name} trains none {figure!r}"
            raise OptionError("--figure", problem, f"choose from {listed}")
        return replace(self, experiments=keys)

    @property
    def scope(self) -> str:
        """Return how much it trains and how to train less, where it is of several figures."""
        if len(self.experiments) == 1:
            return ""
        models, figures = plural(len(self.models()), "model"), len(self.experiments)
        number = _number(self.shows()[0].shown[0])
        one = number if number.isalnum() else self.experiments[0]
        return f"All {models} of {figures} figures; those of one: --figure {one}"

    def named_models(self) -> dict[str, Model]:
        """Return the models by name: the key, or `add/NALU` where the folder tells keys apart."""
        models = self.models()
        keys = [model.key for model in models]
        return {
            m.key if keys.count(m.key) == 1 else f"{m.prefix.split('/')[-2]}/{m.key}": m
            for m in models
        }

    def models(self) -> list[Model]:
        """Return every model once, however many figures show it."""
        found: dict[tuple[str, ...], Model] = {}
        for experiment in self.shows():
            for model in experiment.models:
                if not self.only or (model.key in self.only) != ("-" in self.only):
                    identity = (model.prefix, *words(model.flags))
                    found[identity] = _joined(found.get(identity), model)
        return list(found.values())

    def chosen(self, names: list[str]) -> dict[str, Model]:
        """Return the models of these names, or all of them for none."""
        models = self.named_models()
        chosen: dict[str, Model] = {}
        for name in names or models:
            key = named(models, name)
            if key is None:
                remedy = f"{did_you_mean(name, models, '')} choose from {', '.join(models)}"
                raise OptionError("--model", f"{self.name} has no model {name!r}", remedy)
            chosen[key] = models[key]
        return chosen

    def resources(self) -> Resources:
        """Return resources that suffice for every model."""
        asked = [model.resources for model in self.models()]
        limits = [v.minutes or m.resources.minutes for m in self.models() for v in m.variants]
        return Resources(
            minutes=max(limits),
            cores=max(one.cores for one in asked),
            memory_gb=max(one.memory_gb for one in asked),
            gpu=any(one.gpu for one in asked),
        )


def _number(shown: Shown) -> str:
    return shown.number.removeprefix("Figure ")


def _joined(known: Model | None, model: Model) -> Model:
    """Return a model with the variants and points of two figures, each of which shows a part."""
    if known is None:
        return model
    names = {variant.name for variant in known.variants}
    added = tuple(variant for variant in model.variants if variant.name not in names)
    points = known.points + tuple(p for p in model.points if p not in known.points)
    return replace(known, variants=known.variants + added, points=points)


_TABLE = """
function_task_static: function_task_static_all
simple_mul function_task_static_learning function_task_static_mul_hidden_size
function_task_static_mul_hidden_size_ablation function_task_static_mul_input_size
function_task_static_mul_overlap function_task_static_mul_subset function_task_static_mul_range
function_task_static_mul_num_subsets function_task_static_nalu function_task_static_regualization
sequential_mnist_prod_interpolation sequential_mnist_prod_outputs
sequential_mnist_prod_reference: sequential_mnist_prod_long | reference
sequential_mnist_prod_long: sequential_mnist_prod_long | - reference
sequential_mnist_sum_reference: sequential_mnist_sum_long | reference
sequential_mnist_sum_long: sequential_mnist_sum_long | - reference
sequential_svhn_prod_reference: sequential_svhn_prod_long | reference
sequential_svhn_prod_long: sequential_svhn_prod_long | - reference
single_layer_task/neurips_2021/sltr-in2:
    nips-sltr-in2 nips-realnpu-L1 nips-realnpu-clipping nips-realnpu-discretisation
    nips-realnpu-init nips-in2-nru-lr nips-realnpu-L2 nips-in2-realnpu-lr
single_layer_task/neurips_2021/in2-realnpu-beta-sweep: nips-realnpu-L1_sweep
single_layer_task/neurips_2021/sltr-in10:
    nips-sltr-in10 nips-sltr-in10-npu nips-in10-realnpu-W-reg nips-in10-nmru-ablation
    nips-in10-nmru-lr nips-in10-nmru-optimiser nips-in10-nru-separate-mag-sign
    nips-sltr-in10-losses-realnpu nips-sltr-in10-losses-nru nips-sltr-in10-losses-nmru
single_layer_task/neurips_2021/in2-mixed-signs: in2-mixedSigns
single_layer_task/neurips_2021/in10-mixed-signs: in10-mixedSigns
single_layer_task/neurips_2021/in10-mixed-signs-iridis: in10-mixedSigns
single_layer_task/neurips_2021/sltr-distributions-in2: nips-in2-distributions
single_layer_task/neurips_2021/sltr-distributions-in10: nips-in10-distributions
single_layer_task/neurips_2021/divBy0: nips-divBy0-easy nips-divBy0-medium nips-divBy0-hard
two_digit_mnist/parallel_run GPU: div-1digit_conv-Adam-s3Init
icml_2022/single_module: robust-benchmark_sltr_mul surface-mul robust-batch-snmu
icml_2022/arithmetic_dataset: fts-2021-final fts-snmu-noise-ranges | nau-nmu nau-Nnmu batch_sNMU
icml_2022/arithmetic_dataset_noise_ranges:
    fts-snmu-noise-ranges | 0.01-0.05 0.1-0.5 1-2 5-10 10-20
icml_2022/static_mnist_prod_isolated GPU: static-mnist-mul-isolated
icml_2022/static_mnist_prod_colour_concat GPU: static-mnist-mul-colour-concat
icml_2022/sequential_mnist_prod_reference GPU: robust-sequential_mnist_prod_long | reference
icml_2022/sequential_mnist_prod_long GPU:
    robust-sequential_mnist_prod_long | nmu snmu batch-snmu
single_layer_benchmark:
    benchmark_sltr_mul benchmark_sltr_div benchmark_sltr_add benchmark_sltr_sub
    inalu-in10 nau-failure nau-in100
marc_single_layer:
    benchmark_sltr_mul_mcfc benchmark_sltr_add_mcfc |
    MulMCFC MCFC MulMCFCSignINALU MulMCFCSignRealNPU
"""
"""`NAME [GPU]: experiments | models`, or names that are keys of experiments; behind `-`: all other
models."""


def _read(table: str) -> Iterator[JobScript]:
    for entry in re.split(r"\n(?! )", table.strip()):
        head, colon, rest = entry.partition(":")
        if not colon:
            yield from (JobScript(key, (key,)) for key in head.split())
            continue
        name, *gpu = head.split()
        keys, _, only = rest.partition("|")
        yield JobScript(name, tuple(keys.split()), bool(gpu), tuple(only.split()))


_BENCHMARK = ("single_layer_benchmark", "marc_single_layer")
"""Scripts that the benchmark's own repository has in a folder, and older ones at the top."""


def _all() -> Iterator[JobScript]:
    yield from _read(_TABLE)
    measured = (e for e in EXPERIMENTS.values() if e.criterion == MEASURED)
    yield from (JobScript(experiment.stem, (experiment.key,)) for experiment in measured)
    for script in _read(_TABLE):
        if script.name in _BENCHMARK:
            yield replace(script, name=f"single_layer_task/benchmarking/{script.name}")


JOB_SCRIPTS = {script.name: script for script in _all()}

EXPERIMENT = "experiment:"
"""Before a key: the experiment, also where a script has its name, for other runs."""


def find_job(name: str) -> JobScript:
    """Return the script of a file's name, or one made of the experiment of that key."""
    stem = name.removeprefix("lfs_batch_jobs/").removesuffix(".sh")
    if stem in JOB_SCRIPTS:
        return JOB_SCRIPTS[stem]
    key = name.removeprefix(EXPERIMENT)
    experiment = known(stem) if key == name else find(key)
    if experiment is not None:
        return JobScript(experiment.stem, (experiment.key,))
    hint = did_you_mean(stem, [*JOB_SCRIPTS, *EXPERIMENTS], "--list names them all", most=3)
    raise UsageError(f"there is no batch script and no experiment {name!r}; {hint}")
