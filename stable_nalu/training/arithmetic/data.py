"""The data of all runs of a trainer: training feed, validation and test sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import torch

from stable_nalu.dataset import SimpleFunctionStaticDataset

from .curriculum import CurriculumFeed
from .evaluation import TEST_SEED, VALIDATION_SEED, EvaluationSet
from .feed import Feed
from .task import Task


@dataclass(frozen=True)
class Data:
    """Training feed, evaluation sets (validation, test; or none) and the data sets of all runs."""

    datasets: list[SimpleFunctionStaticDataset]
    feed: Feed | CurriculumFeed
    evaluation: list[EvaluationSet]


def build_dataset(config: SimpleNamespace) -> SimpleFunctionStaticDataset:
    """The data set that one configuration describes."""
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
    configs: Sequence[SimpleNamespace],
    *,
    stacked: bool,
    device: torch.device,
    iterations: int,
) -> Data:
    """Fork, per run and in this order: training, validation and test streams."""
    datasets = [build_dataset(config) for config in configs]
    common = {
        "batch_size": configs[0].batch_size,
        "input_size": datasets[0].get_input_size(),
        "stacked": stacked,
        "device": device,
    }
    if task.curriculum_ranges:
        stages = [[d.fork(list(r)) for r in task.curriculum_ranges] for d in datasets]
        feed = CurriculumFeed(stages, threshold=task.curriculum_threshold, **common)
    else:
        pairs = zip(datasets, configs, strict=True)
        feed = Feed(
            [d.fork(c.interpolation_range) for d, c in pairs], remaining=iterations, **common
        )
    evaluation = []
    if task.evaluates:
        pairs = list(zip(datasets, configs, strict=True))
        validation = [d.fork(c.interpolation_range, seed=VALIDATION_SEED) for d, c in pairs]
        test = [
            d.fork(
                c.extrapolation_range,
                seed=TEST_SEED,
                use_extrapolation=task.test_is_extrapolation,
            )
            for d, c in pairs
        ]
        evaluation = [
            EvaluationSet(streams, stacked=stacked, device=device) for streams in (validation, test)
        ]
    return Data(datasets, feed, evaluation)
