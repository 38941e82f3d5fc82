"""What distinguishes the arithmetic scripts: networks, data and what is logged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset import SampleStream, SimpleFunctionStaticDataset
from stable_nalu.network import SimpleFunctionStaticNetwork, SingleLayerNetwork
from stable_nalu.options import Config

from ..stack import BuildNetwork
from .curriculum import CurriculumFeed
from .data import TEST_SEED, VALIDATION_SEED, EvaluationSet, Feed

if TYPE_CHECKING:
    from stable_nalu.dataset.exceeding import ExceedingStream


def build_static(config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
    """Build the two-layer network of the arithmetic data set."""
    return SimpleFunctionStaticNetwork(
        config.layer_type,
        config.inputs,
        config.hidden_size,
        first_layer=config.first_layer,
        nac_mul=config.nac_mul,
        **layer_options,
    )


def build_single_layer(config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
    """Build one module alone, or an MLP."""
    return SingleLayerNetwork(
        config.layer_type,
        config.inputs,
        getattr(config, "output_size", 1),
        hidden_size=config.hidden_size,
        mlp_depth=getattr(config, "mlp_depth", 0),
        nac_mul=config.nac_mul,
        **layer_options,
    )


@dataclass(frozen=True)
class Task:
    """A script of the static or single-layer family.

    `curriculum_ranges` replace the training range by stages; `curriculum_threshold` is the total
    loss that opens stage 2, and a tenth of it each later one.
    """

    build: BuildNetwork
    evaluates: bool = True
    evaluates_in_eval_mode: bool = True
    test_is_extrapolation: bool = False
    robustness_logging: bool = False
    beta_tag_verbose_only: bool = False
    beta_only_grows: bool = False
    penalizes_inalu: bool = False
    console_interval: int | None = None
    reports_success: bool = False
    prints_weights_always: bool = False
    curriculum_ranges: tuple[tuple[float, float], ...] = ()
    curriculum_threshold: float = 1e-2


_STATIC = Task(
    build_static, reports_success=True, prints_weights_always=True, beta_tag_verbose_only=True
)
TASKS = {
    "simple_function_static": _STATIC,
    "simple_function_static_npu": _STATIC,
    "single_layer": Task(build_single_layer, test_is_extrapolation=True),
    "single_layer_benchmark": Task(build_single_layer, penalizes_inalu=True),
    "single_layer_robust": Task(
        build_single_layer,
        evaluates=False,
        robustness_logging=True,
        beta_tag_verbose_only=True,
        console_interval=1000,
    ),
    "single_layer_curriculum": Task(
        build_single_layer,
        evaluates_in_eval_mode=False,
        beta_only_grows=True,
        curriculum_ranges=((1.1, 1.125), (1.1, 1.15), (1.1, 1.175), (1.1, 1.2)),
    ),
}


@dataclass(frozen=True)
class Data:
    """Training feed, evaluation sets (validation, test; or none) and the data sets of all runs."""

    datasets: list[SimpleFunctionStaticDataset]
    feed: Feed | CurriculumFeed
    evaluation: list[EvaluationSet]


def build_dataset(config: Config) -> SimpleFunctionStaticDataset:
    """Return the data set that a configuration describes."""
    return SimpleFunctionStaticDataset(
        config.operation,
        config.input_size,
        dist_params=getattr(config, "sample_distribution", ("uniform",)),
        subset_ratio=config.subset_ratio,
        overlap_ratio=config.overlap_ratio,
        num_subsets=config.num_subsets,
        simple=config.simple,
        seed=config.seed,
    )


def build_data(
    task: Task,
    configs: Sequence[Config],
    *,
    stacked: bool,
    device: torch.device,
) -> Data:
    """Fork, per run and in this order: training, validation and test streams."""
    datasets = [build_dataset(config) for config in configs]
    sizes = configs[0].batch_size, datasets[0].get_input_size()
    if task.curriculum_ranges:
        stages = [[d.fork(list(r)) for r in task.curriculum_ranges] for d in datasets]
        feed = CurriculumFeed(stages, *sizes, threshold=task.curriculum_threshold)
    else:
        pairs = zip(datasets, configs, strict=True)
        feed = Feed([d.fork(c.interpolation_range) for d, c in pairs], *sizes)
    evaluation = []
    if task.evaluates:
        pairs = list(zip(datasets, configs, strict=True))
        validation = [d.fork(c.interpolation_range, seed=VALIDATION_SEED) for d, c in pairs]
        test = [_test_stream(task, d, c) for d, c in pairs]
        evaluation = [EvaluationSet(streams, device=device) for streams in (validation, test)]
    return Data(datasets, feed, evaluation)


def _test_stream(
    task: Task, dataset: SimpleFunctionStaticDataset, config: Config
) -> SampleStream | ExceedingStream:
    if config.extrapolation_rule == "range":
        return dataset.fork(
            config.extrapolation_range, seed=TEST_SEED, use_extrapolation=task.test_is_extrapolation
        )
    from stable_nalu.dataset.exceeding import ExceedingStream

    ranges = config.interpolation_range, config.extrapolation_range
    return ExceedingStream(dataset, *ranges, seed=TEST_SEED)
